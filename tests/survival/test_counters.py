"""The table of counters, cell by cell: who is charged for what, and what clears it.

Each test is a row of the table: attempts of the step, crashes of the task, deaths of the task.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from everstep.testing import History, simulate
from everstep.testing.zygote import Scenario
from tests.survival import counted, uncharged


def dying(scenario: Scenario, name: str, *args: Any) -> History:
    """Die in the first life at the boundary of this name."""
    undisturbed = simulate(scenario, *args)
    number = next(
        entry.facts["number"]
        for entry in undisturbed.trail
        if entry.kind == "boundary" and entry.name == name
    )
    return simulate(scenario, *args, deaths=[number])


def counters(result: dict[str, Any], step: str) -> tuple[int, int, int]:
    """Attempts of the step, crashes of the task, deaths of the task."""
    return result["attempts"][step], result["crashes"], result["deaths"]


@pytest.mark.parametrize(
    ("scenario", "step", "attempts"),
    [
        (counted.attempt_fails, "fails_twice", 3),
        (counted.times_out, "slow_once", 2),
        (counted.no_heartbeat, "silent_once", 2),
    ],
)
def test_a_failed_attempt_is_charged_to_its_step_alone(
    scenario: Scenario, step: str, attempts: int
) -> None:
    result = simulate(scenario).result

    assert result["status"] == "succeeded"
    assert counters(result, step) == (attempts, 0, 0)


def test_an_error_that_is_never_retried_uses_up_the_step_and_goes_into_run() -> None:
    history = simulate(counted.hopeless_step, True)

    assert history.executions() == {"hopeless": 1, "works": 1}
    assert history.facts("caught", which="hopeless")
    assert history.result["status"] == "succeeded"
    assert counters(history.result, "hopeless") == (1, 0, 0)


def test_an_error_that_is_never_retried_and_leaves_run_gives_the_task_up_at_once() -> None:
    history = simulate(counted.hopeless_step, False)

    assert history.executions() == {"hopeless": 1}
    assert (history.result["status"], history.result["reason"]) == ("failed", "never_retried")
    assert history.result["deaths"] == 0


def test_an_exception_that_leaves_run_is_a_crash_and_frees_only_the_steps_that_left() -> None:
    """`always_fails` is called twice: the first failure is caught and stays, the second leaves."""
    history = simulate(counted.crash_of_run, 1)

    assert history.result["status"] == "succeeded"
    assert history.result["crashes"] == 1
    assert history.result["deaths"] == 0
    assert history.executions() == {"always_fails": 3, "works": 1, "always_fails#2": 3}
    assert history.result["attempts"]["always_fails"] == 3
    assert history.result["attempts"]["always_fails#2"] == 0
    assert history.result["executions"]["always_fails#2"] == 3


def test_more_crashes_than_max_restarts_give_the_task_up() -> None:
    history = simulate(counted.crash_of_run, 99)

    assert (history.result["status"], history.result["reason"]) == ("failed", "crashes")
    assert history.result["crashes"] == 3
    assert history.executions()["always_fails#2"] == 9
    assert history.executions()["always_fails"] == 3


@pytest.mark.parametrize("scenario", [counted.run_ends_first, counted.cancelled_by_its_caller])
def test_a_step_whose_caller_is_gone_is_charged_nothing(scenario: Scenario) -> None:
    result = simulate(scenario).result

    assert result["status"] == "succeeded"
    assert counters(result, "endless") == (0, 0, 0)


def test_a_death_is_charged_to_the_task_and_to_its_open_step() -> None:
    history = dying(counted.dies, "working")

    assert history.result["status"] == "succeeded"
    assert counters(history.result, "works") == (2, 0, 1)


def test_an_orderly_stop_is_charged_to_nobody() -> None:
    result = simulate(counted.stopped_in_order).result

    assert counters(result, "endless") == (0, 0, 0)
    assert result["executions"]["endless"] == 2


def test_a_cancel_by_an_operator_is_charged_to_nobody() -> None:
    result = simulate(counted.cancelled_by_an_operator).result

    assert result["status"] == "cancelled"
    assert counters(result, "endless") == (0, 0, 0)


def test_state_that_does_not_load_pauses_the_task_at_once() -> None:
    history = dying(counted.does_not_load, "working")

    assert (history.result["status"], history.result["reason"]) == ("paused", "state_unreadable")
    assert history.executions() == {"works": 1}
    assert (history.result["crashes"], history.result["deaths"]) == (0, 1), "the death alone"


def test_other_arguments_than_those_of_a_finished_step_pause_the_task_at_once() -> None:
    history = simulate(uncharged.mismatched)

    assert (history.result["status"], history.result["reason"]) == ("paused", "replay_mismatch")
    assert counters(history.result, "fetch") == (1, 0, 0)
    assert counters(history.result, "endless") == (0, 0, 0)
    assert history.executions() == {"fetch": 1, "endless": 1}


@pytest.mark.real
async def test_a_lost_lease_is_charged_to_nobody(tmp_path: Path) -> None:
    left = await uncharged.lost_lease(tmp_path / "tasks.db")

    assert left["status"] == "running", "it belongs to whoever has taken the store"
    assert counters(left, "endless") == (0, 0, 0)


def test_a_task_whose_class_is_unknown_here_is_not_claimed() -> None:
    history = dying(counted.unknown_class, "working")

    assert history.result["status"] == "queued"
    assert history.executions() == {"works": 1}
    assert (history.result["crashes"], history.result["deaths"]) == (0, 1), "the death alone"


@pytest.mark.parametrize(
    ("first", "then", "checkpoint", "crashes"),
    [
        (0.0, 99.0, True, 1),
        (0.0, 101.0, True, 0),
        (0.0, 101.0, False, 1),
        (90.0, 20.0, True, 1),
    ],
    ids=["too early", "late enough", "no checkpoint", "not since the crash"],
)
def test_a_checkpoint_after_reset_after_of_running_since_the_crash_clears_the_crashes(
    first: float, then: float, checkpoint: bool, crashes: int
) -> None:
    history = simulate(counted.gets_on_after_crashes, first, then, checkpoint)

    assert history.result["crashes"] == crashes


@pytest.mark.parametrize(("seconds", "deaths"), [(99.0, 1), (101.0, 0)])
def test_living_for_reset_after_in_one_process_clears_the_deaths(
    seconds: float, deaths: int
) -> None:
    history = dying(counted.lives_long_after_deaths, "working", seconds)

    assert history.result["deaths"] == deaths


def test_resume_gives_fresh_budgets_and_keeps_remembered_failures() -> None:
    history = simulate(counted.resumed)

    before, after = history.result["before"], history.result["after"]
    assert (before["status"], before["reason"]) == ("failed", "never_retried")
    assert after["status"] == "succeeded"
    assert (after["crashes"], after["deaths"]) == (0, 0)
    assert after["attempts"]["always_fails"] == 3
    assert history.executions() == {"always_fails": 3, "works": 1}


def test_resume_gives_a_step_without_an_outcome_all_its_attempts() -> None:
    history = simulate(uncharged.resumed_midway)

    before, after = history.result["before"], history.result["after"]
    assert counters(before, "midway") == (1, 1, 0)
    assert [entry.facts["attempt"] for entry in history.facts("midway")] == [1, 2, 1]
    assert counters(after, "midway") == (1, 0, 0), "the one that ended it"
    assert counters(after, "always_fails") == (3, 0, 0)
    assert history.executions()["always_fails"] == 3
