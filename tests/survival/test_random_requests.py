"""Random requests to servers that die again and again: each is handled once, and so replied."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everstep.testing import simulate, violations
from tests.survival.asking import SERVERS, Request, What, ask_all, replies
from tests.survival.strategies import LONG, deaths

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if LONG else 300)]

KINDS: list[What] = ["add", "add", "log", "fail", "crash", "look", "pass on", "sleep", "repeat"]


@st.composite
def conversations(draw: st.DrawFn) -> list[Request]:
    """Requests, some of them repeats of earlier ones; in the end everybody is looked at."""
    made: list[Request] = []
    for _ in range(draw(st.integers(0, 10))):
        what = draw(st.sampled_from(KINDS))
        whom, other = draw(st.permutations(SERVERS))[:2]
        number = draw(st.integers(1, 30))
        if what == "repeat":
            earlier = [place for place, one in enumerate(made) if one.what not in _NO_REQUESTS]
            if not earlier:
                continue
            number = draw(st.sampled_from(earlier))
        made.append(Request(what, whom, number, other))
    return [*made, *(Request("add", name, 1) for name in SERVERS)]


_NO_REQUESTS = ("sleep", "repeat")


@settings(
    max_examples=1000 if LONG else 20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(requests=conversations(), deaths=deaths(), idle_after=st.sampled_from([0.0, 5.0, 100.0]))
def test_every_request_is_handled_once_and_its_repeats_hear_the_same(
    requests: list[Request], deaths: list[int], idle_after: float
) -> None:
    history = simulate(ask_all, requests, idle_after, deaths=deaths)

    assert history.result == replies(requests), str(history)
    assert not history.outcome.complaints, str(history)
    assert not violations(history, max_attempts=1000), str(history)
