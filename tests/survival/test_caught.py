"""What `run` does with a failed or cancelled step is the same after a death."""

from __future__ import annotations

import pytest

from everstep.testing import History, simulate, survive_simulated
from everstep.testing.zygote import Scenario
from tests.survival.caught import (
    bounded_helper,
    catches,
    loses_a_race,
    loses_in_a_group,
    returns_exceptions,
    times_out,
    wraps,
)
from tests.survival.strategies import LONG

pytestmark = pytest.mark.timeout(7200 if LONG else 300)

CHAINS = 1000 if LONG else 20


def dies_after(scenario: Scenario, kind: str, step: str) -> History:
    """Die when the last event of this kind and step is durable."""
    undisturbed = simulate(scenario)
    places = [
        entry.facts["number"]
        for entry in undisturbed.trail
        if entry.kind == "boundary" and "after" in entry.name and f"{kind} {step}" in entry.name
    ]
    return simulate(scenario, deaths=[places[-1]])


def test_a_failure_that_run_caught_is_remembered_after_a_restart() -> None:
    history = dies_after(catches, "step_completed", "after")

    assert history.result["output"] == "went on with fragile, 2, True"
    assert history.executions() == {"fragile": 2, "after": 1}


def test_a_failure_that_nothing_followed_before_the_death_is_remembered_too() -> None:
    history = dies_after(catches, "step_failed", "fragile")

    assert history.result["output"] == "went on with fragile, 2, True"
    assert history.executions()["fragile"] == 2


@pytest.mark.parametrize("scenario", [wraps, loses_in_a_group])
def test_a_failure_that_leaves_run_gets_fresh_attempts(scenario: Scenario) -> None:
    history = simulate(scenario)

    assert history.result == {"status": "succeeded", "output": "fragile held"}
    assert history.executions() == {"fragile": 5}


@pytest.mark.parametrize("scenario", [wraps, loses_in_a_group])
def test_it_gets_no_more_than_them_wherever_the_process_dies(scenario: Scenario) -> None:
    histories = survive_simulated(scenario, max_attempts=2)

    assert all(history.executions()["fragile"] in (5, 6) for history in histories)


@pytest.mark.parametrize("scenario", [times_out, loses_a_race, bounded_helper])
def test_a_cancelled_step_leaves_nothing_wherever_the_process_dies(scenario: Scenario) -> None:
    histories = survive_simulated(scenario, chains=CHAINS, max_attempts=30)

    assert histories[0].result["status"] == "succeeded"


def test_a_step_cancelled_by_its_caller_is_charged_nothing() -> None:
    history = simulate(times_out)

    assert history.result["output"] == "went on with the timeout"
    kinds = [entry.name for entry in history.trail if entry.facts.get("step") == "never"]
    assert kinds == ["executed", "step_started", "step_cancelled"]


def test_gather_with_returned_exceptions_goes_on_alike_after_a_death() -> None:
    history = dies_after(returns_exceptions, "step_completed", "after#2")

    assert history.result["output"] == "2 went on with both went on with the end"
    assert history.executions() == {"fragile": 2, "after": 1, "after#2": 1}
