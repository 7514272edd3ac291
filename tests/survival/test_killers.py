"""Tasks that kill their process are found alone, and their neighbours go free."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep.testing import History, Zygote, live_through, simulate
from tests.survival.crowd import crowd
from tests.survival.strategies import LONG

pytestmark = pytest.mark.timeout(7200 if LONG else 300)

NEVER = 10**9
"""A boundary that no life reaches: here the tasks themselves do the killing."""
MOST_LIVES = 400


def check(history: History, healthy: int) -> None:
    result = history.result
    assert result["healthy"].get("healthy", 0) == healthy
    assert result["killers"] == ["failed by deaths", "failed by deaths"]
    assert all(outcome.how == "killed" for outcome in history.outcomes[:-1])


@pytest.mark.real
@pytest.mark.slow
def test_two_killers_fail_and_two_hundred_healthy_tasks_do_not(
    zygote: Zygote, tmp_path: Path
) -> None:
    deaths = [NEVER] * MOST_LIVES

    history = live_through(zygote, crowd, tmp_path / "tasks.db", 200, 2.0, deaths=deaths)

    check(history, 200)


@pytest.mark.parametrize("healthy", [0, 1, 2, 7, 60] if not LONG else range(0, 300, 7))
def test_killers_are_found_in_a_crowd_of_any_size(healthy: int) -> None:
    history = simulate(crowd, healthy, 1000.0, deaths=[NEVER] * MOST_LIVES)

    check(history, healthy)
