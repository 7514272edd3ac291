"""Attempts and backoffs outlast the process: none is given back, none is added."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from everstep.testing import History, ManualClock, Zygote, live_through, simulate
from everstep.testing.zygote import Scenario
from tests.survival.budgets import backing_off, failing, siblings, succeeds_last
from tests.survival.strategies import LONG

pytestmark = pytest.mark.timeout(7200 if LONG else 300)


def boundary_named(history: History, name: str) -> int:
    """The number of the first boundary of this name in the first life."""
    return next(
        int(entry.facts["number"])
        for entry in history.trail
        if entry.kind == "boundary" and entry.life == 1 and entry.name == name
    )


@pytest.mark.real
def test_four_attempts_and_a_death_in_the_third_are_four_executions(
    zygote: Zygote, tmp_path: Path
) -> None:
    undisturbed = live_through(zygote, failing, tmp_path / "undisturbed.db")
    third = boundary_named(undisturbed, "in attempt 3")

    history = live_through(zygote, failing, tmp_path / "tasks.db", deaths=[third])

    assert [outcome.how for outcome in history.outcomes] == ["killed", "ended"]
    assert history.executions() == {"work": 4}
    assert history.result == {"status": "failed", "reason": "crashes", "output": None}


def test_the_last_attempt_is_charged_only_where_it_ran_or_was_to_run_at_that_instant() -> None:
    undisturbed = simulate(succeeds_last)
    assert undisturbed.result["status"] == "succeeded"
    about_to_run = boundary_named(undisturbed, "in attempt 4") - 1

    for first in {*range(1, undisturbed.passed + 1)} - {about_to_run}:
        history = simulate(succeeds_last, deaths=[first])

        assert history.facts("executed", attempt=4), f"the fourth attempt never ran\n{history}"
        assert history.executions()["work"] <= 4, str(history)


@pytest.mark.parametrize("place", [1, 2, 3])
def test_repeated_deaths_in_a_first_attempt_that_no_batch_told_of_use_up_the_budget(
    place: int,
) -> None:
    """The first boundaries of a life with the task are: the claim, twice, and the step itself."""
    undisturbed = simulate(failing)
    inside = boundary_named(undisturbed, "in attempt 1")
    later = simulate(failing, deaths=[inside])
    again = next(
        int(entry.facts["number"])
        for entry in later.trail
        if entry.life == 2 and entry.kind == "boundary" and entry.name.startswith("in attempt")
    )

    history = simulate(failing, deaths=[inside] + [again] * place * 3)

    assert history.executions()["work"] == 4, str(history)
    assert history.result["status"] == "failed"


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_siblings_of_a_gather_that_die_together_again_and_again_keep_to_their_attempts(
    name: str,
) -> None:
    deaths = [boundary_named(simulate(siblings), f"in {name}")]
    while True:
        history = simulate(siblings, deaths=deaths)
        assert all(count <= 4 for count in history.executions().values()), str(history)
        inside = [
            entry
            for entry in history.trail
            if entry.life == len(history.outcomes) and entry.name == f"in {name}"
        ]
        if not inside:
            break
        deaths.append(int(inside[0].facts["number"]))

    assert history.result["output"] == ["a failed", "b failed", "c failed"]
    assert len(deaths) >= 3


@pytest.mark.parametrize("scenario", [failing, siblings, succeeds_last])
def test_no_chain_of_deaths_adds_an_execution(scenario: Scenario) -> None:
    passed = simulate(scenario).passed
    for first, second in pairwise([*range(1, passed + 1), 1]):
        for third in range(1, 12) if LONG else (3, 5, 8):
            history = simulate(scenario, deaths=[first, second, third, third, third])

            assert all(count <= 4 for count in history.executions().values()), str(history)
            assert history.outcome.how == "ended"


# --- backoffs --------------------------------------------------------------------------------


def waited(dies_after: float, down: float, jump: float, *, boot: str = "manual") -> float:
    """Seconds from the beginning to the second attempt, with a death in the backoff."""
    clock = ManualClock(boot=boot)
    undisturbed = simulate(backing_off, dies_after, down, jump, clock=ManualClock(boot=boot))
    dies_at = boundary_named(undisturbed, "in the backoff")
    history = simulate(backing_off, dies_after, down, jump, deaths=[dies_at], clock=clock)
    assert history.result == "done"
    assert len(history.outcomes) == 2
    begin, end = history.facts("begin")[0], history.facts("end")[0]
    return float(end.facts["at"] - begin.facts["at"])


@pytest.mark.parametrize("jump", [0.0, 3600.0, -3600.0])
def test_what_is_left_of_a_backoff_is_waited_whatever_the_wall_clock_did(jump: float) -> None:
    assert waited(40, down=10, jump=jump) == pytest.approx(100)


def test_a_backoff_that_ended_while_nobody_lived_is_not_waited_again() -> None:
    assert waited(40, down=500, jump=0) == pytest.approx(540)


@pytest.mark.parametrize(("jump", "until"), [(3600.0, 50.0), (-3600.0, 150.0), (0.0, 100.0)])
def test_where_the_boot_is_not_known_never_more_than_the_whole_backoff_is_waited(
    jump: float, until: float
) -> None:
    assert waited(40, down=10, jump=jump, boot="") == pytest.approx(until)
