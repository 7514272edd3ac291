"""A store that cannot commit: actors wait where they are, go on when it is mended, uncharged."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep.testing import Zygote, live_through
from everstep.testing.zygote import Scenario
from tests.survival.trouble import (
    STEPS,
    disk_full,
    locked_by_a_stranger,
    patience_is_over,
)

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(120)]

UNCHARGED = {
    "status": "succeeded",
    "output": STEPS,
    "crashes": 0,
    "deaths": 0,
    "attempts": 1,
    "executions": 1,
}


@pytest.mark.parametrize(
    ("scenario", "word"), [(disk_full, "size limits"), (locked_by_a_stranger, "lock")]
)
def test_tasks_wait_out_the_trouble_and_nothing_is_charged(
    zygote: Zygote, tmp_path: Path, scenario: Scenario, word: str
) -> None:
    history = live_through(zygote, scenario, tmp_path / "tasks.db")

    assert history.result == {"ended": [UNCHARGED] * 3}
    assert len(history.facts("executed")) == 3 * STEPS
    assert word in history.facts("alarm")[0].facts["what"]


def test_when_patience_is_over_the_runtime_stops_in_order_and_the_next_one_charges_nothing(
    zygote: Zygote, tmp_path: Path
) -> None:
    first = live_through(zygote, patience_is_over, tmp_path / "tasks.db")
    assert "what was acknowledged is in the file" in first.result["failed"]

    outcome = zygote.run(patience_is_over, tmp_path / "tasks.db", life=2)

    assert outcome.how == "ended", str(outcome)
    assert not outcome.complaints
    for counts in outcome.result["ended"]:
        assert {**counts, "executions": 1} == UNCHARGED
