"""A delay that was stored is waited once, whatever the clocks did since."""

from __future__ import annotations

import asyncio
import time

import pytest

from everstep.storage import Due, SystemClock, due_in, left_of
from everstep.testing import ManualClock


def test_what_is_left_of_a_delay_shrinks_with_time() -> None:
    clock = ManualClock()
    due = due_in(clock, 10)

    clock.advance(4)

    assert left_of(clock, due) == pytest.approx(6)


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_a_jump_of_the_wall_clock_changes_nothing_within_a_boot(jump: float) -> None:
    clock = ManualClock()
    due = due_in(clock, 10)

    clock.jump(jump)

    assert left_of(clock, due) == pytest.approx(10)


@pytest.mark.parametrize(("jump", "left"), [(-3600, 10), (3600, 0), (4, 6)])
def test_without_a_boot_never_more_than_the_delay_is_left_and_never_less_than_none(
    jump: float, left: float
) -> None:
    clock = ManualClock(boot="")
    due = due_in(clock, 10)
    assert due.boot is None

    clock.jump(jump)

    assert left_of(clock, due) == pytest.approx(left)


def test_a_delay_that_is_over_leaves_nothing() -> None:
    assert left_of(ManualClock(now=100), Due(1.0, None, 5.0)) == 0


@pytest.mark.real
async def test_the_clock_of_the_machine_tells_and_waits() -> None:
    clock = SystemClock()
    name, since_boot = clock.boot()
    rung = asyncio.Event()
    before = clock.monotonic()

    timer = clock.call_later(0, rung.set)
    await rung.wait()
    timer.cancel()
    await clock.sleep(0.001)

    assert clock.monotonic() >= before + 0.001
    assert abs(clock.now() - time.time()) < 5
    assert (since_boot > 0) is bool(name)
