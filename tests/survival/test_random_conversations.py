"""Random conversations of tasks that die again and again: everybody hears everything once."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everstep.testing import simulate, violations
from tests.survival.conversations import NAMES, Line, What, converse, heard
from tests.survival.strategies import LONG, deaths

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if LONG else 300)]

SAYS: st.SearchStrategy[What] = st.sampled_from(["say", "say in a step"])

WHAT: st.SearchStrategy[What] = st.sampled_from(["say", "say", "hear", "sleep"])


@st.composite
def conversations(draw: st.DrawFn) -> list[Line]:
    """Lines in an order in which they could happen; in the end nothing is left unheard."""
    lines: list[Line] = []
    unheard: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(0, 12))):
        what = draw(WHAT)
        if what == "say":
            who, whom = draw(st.permutations(NAMES))[:2]
            lines.append(Line(who, draw(SAYS), whom))
            unheard.append((who, whom))
        elif what == "hear" and unheard:
            who, whom = unheard.pop(draw(st.integers(0, len(unheard) - 1)))
            lines.append(Line(whom, "hear", who))
        elif what == "sleep":
            seconds = draw(st.sampled_from([0.0, 1.0, 30.0]))
            lines.append(Line(draw(st.sampled_from(NAMES)), "sleep", seconds=seconds))
    return [*lines, *(Line(whom, "hear", who) for who, whom in unheard)]


@settings(
    max_examples=1000 if LONG else 20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(lines=conversations(), deaths=deaths(), idle_after=st.sampled_from([0.0, 5.0, 100.0]))
def test_everybody_hears_what_was_said_to_them_once_and_in_order(
    lines: list[Line], deaths: list[int], idle_after: float
) -> None:
    history = simulate(converse, lines, idle_after, deaths=deaths)

    assert history.result == heard(lines), str(history)
    assert not history.outcome.complaints, str(history)
    assert not violations(history), str(history)
