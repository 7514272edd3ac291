"""A task that waits, killed wherever it can be killed, loses no wait and ends none twice."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from everstep.testing import History, Zygote, survive, survive_simulated
from everstep.testing.survival import Check
from tests.survival.approving import approve
from tests.survival.parents import CHILDREN, forsaken, offices, paused_along, raised
from tests.survival.reminding import agree, hesitate
from tests.survival.strategies import LONG, REAL_BOUNDARIES, REAL_CHAINS, SIMULATED_CHAINS, tried
from tests.survival.talking import ASKERS, QUESTIONS, talk
from tests.survival.timed import timed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if LONG else 300)]


def every_sleep_ended_once(undisturbed: History, history: History) -> None:
    waits = history.result["waits"]
    assert len(waits) == len(set(waits)) == 2 * 6, waits


@pytest.mark.real
@pytest.mark.parametrize("idle_after", [60.0, 0.0], ids=["in memory", "out of memory"])
def test_a_task_killed_in_its_sleeps_goes_on_with_them(
    zygote: Zygote, tmp_path: Path, idle_after: float
) -> None:
    survive(
        zygote,
        timed,
        tmp_path,
        0.001,
        idle_after,
        boundaries=REAL_BOUNDARIES,
        chains=REAL_CHAINS,
        check=every_sleep_ended_once,
    )


@pytest.mark.parametrize("idle_after", [1000.0, 20.0, 0.0])
def test_a_task_killed_at_every_boundary_of_its_sleeps_goes_on_with_them(
    idle_after: float,
) -> None:
    survive_simulated(
        timed,
        1.0,
        idle_after,
        boundaries=tried(idle_after),
        chains=SIMULATED_CHAINS,
        check=every_sleep_ended_once,
    )


SAID = {
    "squarer": [f"{name} {number}" for name in ASKERS for number in range(QUESTIONS)],
    **{name: [number**2 for number in range(QUESTIONS)] for name in ASKERS},
}


@pytest.mark.real
@pytest.mark.parametrize("idle_after", [60.0, 0.0], ids=["in memory", "out of memory"])
def test_tasks_that_are_killed_while_they_talk_say_and_hear_everything_once(
    zygote: Zygote, tmp_path: Path, idle_after: float
) -> None:
    histories = survive(
        zygote,
        talk,
        tmp_path,
        idle_after,
        boundaries=REAL_BOUNDARIES,
        chains=REAL_CHAINS,
    )

    assert histories[0].result == SAID


@pytest.mark.parametrize("idle_after", [20.0, 0.0])
def test_tasks_that_die_at_every_boundary_while_they_talk_hear_everything_once(
    idle_after: float,
) -> None:
    histories = survive_simulated(
        talk, idle_after, boundaries=tried(idle_after), chains=SIMULATED_CHAINS
    )

    assert histories[0].result == SAID


@pytest.mark.parametrize("idle_after", [20.0, 0.0])
def test_an_answer_is_heard_once_wherever_the_process_dies(idle_after: float) -> None:
    histories = survive_simulated(
        approve, idle_after, boundaries=tried(idle_after), chains=SIMULATED_CHAINS
    )

    assert histories[0].result == {key: ["1 True", "2 False"] for key in ("one", "other")}


def every_child_ended_once(undisturbed: History, history: History) -> None:
    children, waits = history.result["children"], history.result["waits"]
    assert len(children) == CHILDREN, children
    assert len(waits) == len(set(waits)) == CHILDREN, waits


@pytest.mark.real
@pytest.mark.parametrize("idle_after", [60.0, 0.0], ids=["in memory", "out of memory"])
def test_a_killed_parent_starts_no_child_twice_and_loses_no_result(
    zygote: Zygote, tmp_path: Path, idle_after: float
) -> None:
    survive(
        zygote,
        raised,
        tmp_path,
        idle_after,
        boundaries=REAL_BOUNDARIES,
        chains=REAL_CHAINS,
        check=every_child_ended_once,
    )


@pytest.mark.parametrize("idle_after", [20.0, 0.0])
def test_a_parent_that_dies_at_every_boundary_starts_no_child_twice_and_loses_no_result(
    idle_after: float,
) -> None:
    survive_simulated(
        raised,
        idle_after,
        boundaries=tried(idle_after),
        chains=SIMULATED_CHAINS,
        check=every_child_ended_once,
    )


def test_the_children_of_a_parent_that_failed_are_cancelled_wherever_the_process_dies() -> None:
    histories = survive_simulated(forsaken, chains=SIMULATED_CHAINS)

    assert [child.split()[1] for child in histories[0].result["children"]] == ["cancelled"] * 3


def test_the_children_that_follow_a_parent_are_paused_with_it_wherever_the_process_dies() -> None:
    histories = survive_simulated(paused_along, chains=SIMULATED_CHAINS)

    assert histories[0].result == {"pauses": [1, 1, 1]}


GIVEN = {"started": True, "texts": ["one", "two", "three"], "told": ["one", "three", "two"]}


@pytest.mark.real
def test_a_killed_server_starts_no_child_twice_and_hears_of_each_once(
    zygote: Zygote, tmp_path: Path
) -> None:
    histories = survive(
        zygote,
        offices,
        tmp_path,
        0.0,
        boundaries=REAL_BOUNDARIES,
        chains=REAL_CHAINS,
    )

    assert histories[0].result == GIVEN


@pytest.mark.parametrize("idle_after", [20.0, 0.0])
def test_a_server_that_dies_at_every_boundary_starts_no_child_twice_and_hears_of_each_once(
    idle_after: float,
) -> None:
    histories = survive_simulated(
        offices, idle_after, boundaries=tried(idle_after), chains=SIMULATED_CHAINS
    )

    assert histories[0].result == GIVEN


def every_reminder_came_once_and_in_time(every: float) -> Check:
    """Each was given a period after the one before it, or later, and none is missing."""

    def check(_: History, history: History) -> None:
        for task in ("one", "other"):
            told = [one.facts for one in history.facts("told", task=task)]
            begun = [one["at"] for one in told if one["what"] == "wait_started"]
            given = [one for one in told if one["what"] == "wait_reminded"]
            times = [*begun, *(one["at"] for one in given)]
            assert [one["count"] for one in given] == list(range(1, len(given) + 1)), given
            assert len(given) >= 3, given
            assert all(later - one >= every for one, later in pairwise(times)), times

    return check


@pytest.mark.parametrize("idle_after", [20.0, 0.0])
def test_no_reminder_is_lost_or_given_twice_wherever_the_process_dies(idle_after: float) -> None:
    survive_simulated(
        *(hesitate, 60.0, 3, idle_after),
        boundaries=tried(idle_after),
        chains=SIMULATED_CHAINS,
        check=every_reminder_came_once_and_in_time(60.0),
    )


@pytest.mark.real
@pytest.mark.parametrize("idle_after", [60.0, 0.0], ids=["in memory", "out of memory"])
def test_no_reminder_is_lost_or_given_twice_where_the_process_is_killed(
    zygote: Zygote, tmp_path: Path, idle_after: float
) -> None:
    survive(
        *(zygote, hesitate, tmp_path, 0.2, 3, idle_after),
        boundaries=REAL_BOUNDARIES,
        chains=REAL_CHAINS,
        check=every_reminder_came_once_and_in_time(0.2 / 2),  # the clocks of a busy machine
    )


OBEYED = ["this", "that", "Ada forbids harm"]


def every_step_was_asked_for_once(_: History, history: History) -> None:
    for task in ("one", "other"):
        told = history.facts("told", task=task)
        waits = [f"{one.facts['what']} {one.facts['step']}" for one in told]
        assert len(waits) == len(set(waits)) == 2 * 3, waits
        assert history.facts("executed", task=task, step="act:harm") == []


@pytest.mark.parametrize("idle_after", [20.0, 0.0])
def test_a_step_runs_only_after_its_yes_wherever_the_process_dies(idle_after: float) -> None:
    histories = survive_simulated(
        agree,
        idle_after,
        boundaries=tried(idle_after),
        chains=SIMULATED_CHAINS,
        check=every_step_was_asked_for_once,
    )

    assert histories[0].result == {"one": OBEYED, "other": OBEYED}


@pytest.mark.real
@pytest.mark.parametrize("idle_after", [60.0, 0.0], ids=["in memory", "out of memory"])
def test_a_step_runs_only_after_its_yes_where_the_process_is_killed(
    zygote: Zygote, tmp_path: Path, idle_after: float
) -> None:
    survive(
        *(zygote, agree, tmp_path, idle_after),
        boundaries=REAL_BOUNDARIES,
        chains=REAL_CHAINS,
        check=every_step_was_asked_for_once,
    )
