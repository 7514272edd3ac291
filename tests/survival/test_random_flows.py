"""Whatever a flow does and wherever it dies: it leaves what it would have left undisturbed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from everstep.testing import History, Zygote, simulate, survive, survive_simulated, violations
from tests.survival.flows import MOST_ATTEMPTS, RICH, Flow, expected, rich_flow, run_flow, run_flows
from tests.survival.strategies import LONG, crowds, deaths, flows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if LONG else 300)]

unhurried = settings(
    max_examples=2000 if LONG else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def check(flow: Flow, history: History) -> None:
    assert history.result == expected(flow), f"{expected(flow)}\n{history}"
    unharmed(history)


def unharmed(history: History) -> None:
    assert not history.outcome.complaints, str(history)
    assert not violations(history, max_attempts=MOST_ATTEMPTS), str(history)
    probed = [fact.facts["operation"] for fact in history.facts("effect") if fact.facts["probed"]]
    assert len(set(probed)) == len(probed), f"an effect with a probe happened twice\n{history}"


@unhurried
@given(flow=flows())
def test_an_undisturbed_flow_leaves_what_the_model_says(flow: Flow) -> None:
    check(flow, simulate(run_flow, flow))


@unhurried
@given(flow=flows(), deaths=deaths())
def test_a_flow_that_dies_leaves_what_an_undisturbed_one_leaves(
    flow: Flow, deaths: list[int]
) -> None:
    check(flow, simulate(run_flow, flow, deaths=deaths))


@unhurried
@given(flows=crowds(), deaths=deaths())
def test_flows_that_run_at_once_and_die_together_leave_what_each_leaves_alone(
    flows: list[Flow], deaths: list[int]
) -> None:
    history = simulate(run_flows, flows, deaths=deaths)

    assert history.result == [expected(flow) for flow in flows], str(history)
    unharmed(history)


@pytest.mark.real
def test_a_flow_with_some_of_everything_survives_real_kills(zygote: Zygote, tmp_path: Path) -> None:
    histories = survive(
        zygote,
        rich_flow,
        tmp_path,
        boundaries=None if LONG else 10,
        chains=300 if LONG else 4,
        max_attempts=MOST_ATTEMPTS,
    )

    assert histories[0].result == expected(RICH)


def test_a_flow_with_some_of_everything_survives_at_every_boundary() -> None:
    histories = survive_simulated(rich_flow, chains=20, max_attempts=MOST_ATTEMPTS)

    for history in histories:
        unharmed(history)
