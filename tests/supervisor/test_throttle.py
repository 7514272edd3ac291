"""The rate is exact in every window, and a storm slows down what it does not end."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everstep.supervisor.pacing import Pacing
from everstep.supervisor.pool_spec import Pool
from everstep.supervisor.throttle import Throttle
from everstep.testing import ManualClock

Told = list[tuple[str, str, bool]]


@given(
    st.integers(1, 4),
    st.floats(0.1, 9),
    st.lists(st.tuples(st.floats(0, 5), st.integers(0, 6)), max_size=30),
)
def test_in_no_window_are_more_let_in_than_the_rate_allows(
    tasks: int, within: float, wanted: list[tuple[float, int]]
) -> None:
    spec, throttle = Pool(rate=(tasks, within)), Throttle()
    now, times = 0.0, list[float]()
    for passes, want in wanted:
        now += passes
        for _ in range(min(want, throttle.allows(spec, now, 99))):
            throttle.let_in(spec, now)
            times.append(now)

    for first, next_after in zip(times, times[tasks:], strict=False):
        assert next_after - first >= within or math.isclose(next_after - first, within)


@given(st.integers(1, 4), st.floats(0.001, 900), st.lists(st.floats(0, 300), max_size=9))
def test_the_pause_of_a_rate_ends_just_when_one_more_is_allowed(
    tasks: int, within: float, gaps: list[float]
) -> None:
    spec, throttle = Pool(rate=(tasks, within)), Throttle()
    now = 0.0
    for gap in [*gaps, *[0.0] * tasks]:
        now += gap
        if throttle.allows(spec, now, 1):
            throttle.let_in(spec, now)

    wait = throttle.closed_for(spec, now)

    assert 0 < wait <= within * (1 + 1e-9)
    assert throttle.allows(spec, now + wait * 0.999 - 1e-6, 1) == 0
    assert throttle.allows(spec, now + wait, 1) == 1


def test_without_limits_all_room_is_given() -> None:
    throttle = Throttle()
    throttle.let_in(Pool(), 1.0)
    throttle.crashed(Pool(), 1.0)

    assert throttle.allows(Pool(), 1.0, 7) == 7
    assert throttle.allows(Pool(), 1.0, -2) == 0
    assert throttle.closed_for(Pool(), 1.0) == 0
    assert not throttle.settle(Pool(), 1.0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


class Hearing:
    """A pacing whose policy can be exchanged, and what it told."""

    def __init__(self, clock: ManualClock, spec: Pool) -> None:
        self.spec = spec
        self.passes = 0
        self.told: Told = []
        self.pacing = Pacing(
            lambda: self.spec, clock, Throttle(), on_pass=self._pass, on_event=self._hear
        )

    def _pass(self) -> None:
        self.passes += 1

    def _hear(self, kind: str, reason: str, expected: bool) -> None:
        self.told.append((kind, reason, expected))


def test_a_storm_begins_with_one_crash_too_many_and_ends_when_they_are_past(
    clock: ManualClock,
) -> None:
    heard = Hearing(clock, Pool(storm=(2, 60)))
    for _ in range(2):
        heard.pacing.crashed()
        clock.advance(10)
    assert (heard.told, heard.pacing.storm) == ([], None)

    heard.pacing.crashed()
    clock.advance(5)

    (began,) = heard.told
    assert (began[0], began[2]) == ("storm_began", False)
    assert "more than 2 crashes within 60 s" in began[1]
    assert "every 30 s" in began[1]
    assert (heard.pacing.storm, heard.pacing.crashes) == (5, 3)
    heard.pacing.arm(waiting=False)
    assert heard.pacing.left == 35  # the first crash is past 60 s after it happened
    clock.advance(35)
    heard.pacing.settle()
    assert [kind for kind, _, _ in heard.told] == ["storm_began", "storm_ended"]
    assert (heard.pacing.storm, heard.pacing.crashes) == (None, 2)


def test_in_a_storm_one_is_let_in_at_a_time(clock: ManualClock) -> None:
    heard = Hearing(clock, Pool(storm=(4, 60)))
    heard.pacing.let_in()
    for _ in range(5):
        heard.pacing.crashed()

    let_in: list[float] = []
    for _ in range(50):
        for _ in range(heard.pacing.allows(9)):
            heard.pacing.let_in()
            let_in.append(clock.monotonic())
        clock.advance(1)

    assert let_in == [15, 30, 45]


def test_the_pause_of_a_rate_is_waited_only_where_somebody_waits(clock: ManualClock) -> None:
    heard = Hearing(clock, Pool(storm=(1, 60), rate=(1, 20)))
    heard.pacing.let_in()
    heard.pacing.arm(waiting=False)
    before = heard.pacing.left

    heard.pacing.arm(waiting=True)

    assert (before, heard.pacing.left) == (None, 20)
    clock.advance(20)
    assert heard.passes == 1


def test_a_policy_without_a_storm_limit_ends_the_storm(clock: ManualClock) -> None:
    heard = Hearing(clock, Pool(storm=(1, 60)))
    for _ in range(2):
        heard.pacing.crashed()

    heard.spec = Pool()
    heard.pacing.changed()

    assert [kind for kind, _, _ in heard.told] == ["storm_began", "storm_ended"]
    assert heard.pacing.allows(5) == 5


def test_a_storm_is_told_with_what_to_do(clock: ManualClock) -> None:
    heard = Hearing(clock, Pool("agents", storm=(1, 60)))
    for _ in range(3):
        heard.pacing.crashed()

    ((kind, reason, expected),) = heard.told
    assert (kind, expected) == ("storm_began", False)
    assert "one task is let in every 60 s" in reason
    assert "await runtime.tasks(pool='agents')" in reason
