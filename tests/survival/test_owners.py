"""One owner at a time: whoever else opens the file is told so, and disturbs nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep.testing import Zygote, live_through
from everstep.testing.zygote import Scenario
from tests.survival.owners import (
    another_process,
    another_runtime,
    fork,
    killed_and_opened_at_once,
)

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("scenario", "told"),
    [
        (another_process, ["StoreInUse", "StoreInUse"]),
        (another_runtime, ["StoreInUse", "StoreInUse"]),
        (fork, ["", "StoreInUse"]),
    ],
)
def test_an_intruder_is_told_and_the_owner_is_not_disturbed(
    zygote: Zygote, tmp_path: Path, scenario: Scenario, told: list[str]
) -> None:
    history = live_through(zygote, scenario, tmp_path / "tasks.db")

    answers: list[str] = history.result["answers"]
    assert len(answers) == len(told)
    assert all(answer.startswith(name) for answer, name in zip(answers, told, strict=True)), answers
    assert "started" not in answers
    assert (history.result["crashes"], history.result["deaths"]) == (0, 0)
    assert not history.outcome.complaints


def test_a_forked_child_cannot_use_what_it_inherited(zygote: Zygote, tmp_path: Path) -> None:
    answer = live_through(zygote, fork, tmp_path / "tasks.db").result["answers"][0]

    assert answer.startswith(("StoreClosed", "RuntimeClosed")), answer


def test_the_file_of_a_killed_owner_opens_at_once(zygote: Zygote, tmp_path: Path) -> None:
    history = live_through(zygote, killed_and_opened_at_once, tmp_path / "tasks.db", deaths=[50])

    assert [outcome.how for outcome in history.outcomes] == ["killed", "ended"]
    assert history.result < 2.0
