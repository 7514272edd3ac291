"""Steps side by side, in loops and in chains, killed in the middle, resume correctly."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep.testing import Zygote, live_through, simulate, survive, survive_simulated, violations
from everstep.testing.zygote import Scenario
from tests.survival.side_by_side import (
    TEN,
    chains,
    conflicting,
    different,
    keyed,
    logging_side_by_side,
    long_loop,
)
from tests.survival.strategies import LONG

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if LONG else 300)]

GATHERS = pytest.mark.parametrize("scenario", [keyed, different, chains, logging_side_by_side])


@GATHERS
def test_a_gather_that_dies_anywhere_resumes_correctly(scenario: Scenario) -> None:
    histories = survive_simulated(scenario, chains=2000 if LONG else 20)

    assert histories[0].result["status"] == "succeeded"
    assert sum(histories[0].executions().values()) in (10, 20)


@pytest.mark.real
@GATHERS
def test_a_gather_that_is_killed_resumes_correctly(
    zygote: Zygote, tmp_path: Path, scenario: Scenario
) -> None:
    survive(zygote, scenario, tmp_path, boundaries=None if LONG else 8, chains=200 if LONG else 3)


def test_the_results_of_a_gather_come_in_the_order_of_its_calls() -> None:
    assert simulate(keyed, deaths=[20]).result["output"] == [f"page {name}" for name in TEN]


def test_what_one_step_appends_to_a_log_stays_together() -> None:
    assert simulate(logging_side_by_side, deaths=[15]).result["together"]


def test_overlapping_changes_of_one_field_are_a_conflict_wherever_it_dies() -> None:
    histories = survive_simulated(conflicting)

    assert histories[0].result == {"status": "failed", "conflict": True}


def test_a_loop_of_a_thousand_steps_resumes_in_its_middle() -> None:
    boundary = 2 * 500 + 5

    history = simulate(long_loop, 1000, deaths=[boundary])

    assert history.result["output"] == sum(range(1000))
    assert not violations(history)
    assert sum(history.executions().values()) in (1000, 1001)


@pytest.mark.real
def test_a_loop_of_a_thousand_steps_that_is_killed_again_and_again_reaches_its_end(
    zygote: Zygote, tmp_path: Path
) -> None:
    history = live_through(zygote, long_loop, tmp_path / "tasks.db", 1000, deaths=[700, 600, 350])

    assert history.result["output"] == sum(range(1000))
    assert not violations(history)
