"""The manual clock stands still until it is moved, and then fires in order."""

import asyncio
from datetime import timedelta

import pytest

from everstep.storage.clock import Clock, due_in, left_of
from everstep.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_it_is_a_clock(clock: ManualClock) -> None:
    as_clock: Clock = clock

    assert as_clock.boot() == ("manual", 0.0)


async def test_timers_fire_in_the_order_of_their_instants(clock: ManualClock) -> None:
    fired: list[tuple[str, float]] = []
    clock.call_later(3, lambda: fired.append(("late", clock.monotonic())))
    clock.call_later(1, lambda: fired.append(("early", clock.monotonic())))
    clock.call_later(1, lambda: fired.append(("second", clock.monotonic())))

    clock.advance(2)
    assert fired == [("early", 1.0), ("second", 1.0)]
    clock.advance(2)
    assert fired[2:] == [("late", 3.0)]
    assert clock.monotonic() == 4.0


async def test_a_timer_set_by_a_timer_fires_in_the_same_advance(clock: ManualClock) -> None:
    fired: list[float] = []

    def again() -> None:
        fired.append(clock.monotonic())
        clock.call_later(1, again)

    clock.call_later(1, again)
    clock.advance(3)

    assert fired == [1.0, 2.0, 3.0]


async def test_a_cancelled_timer_neither_fires_nor_counts(clock: ManualClock) -> None:
    fired: list[int] = []
    timer = clock.call_later(1, lambda: fired.append(1))

    timer.cancel()
    timer.cancel()
    clock.advance(2)

    assert fired == []
    assert clock.waiting() == 0


async def test_a_delay_that_is_not_positive_is_called_on_the_next_turn(clock: ManualClock) -> None:
    called = asyncio.Event()

    clock.call_later(0, called.set)

    assert not called.is_set()
    await called.wait()


async def test_a_sleeper_wakes_when_its_time_has_passed(clock: ManualClock) -> None:
    sleeper = asyncio.create_task(clock.sleep(5))
    await clock.until_waiting()

    clock.advance(4.9)
    await asyncio.sleep(0)
    assert not sleeper.done()
    clock.advance(0.1)
    await sleeper


async def test_a_cancelled_sleep_leaves_nothing_behind(clock: ManualClock) -> None:
    sleeper = asyncio.create_task(clock.sleep(5))
    await clock.until_waiting()

    sleeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeper

    assert clock.waiting() == 0


async def test_until_waiting_can_be_told_to_overlook_slow_timers(clock: ManualClock) -> None:
    clock.call_later(30, lambda: None)
    waiter = asyncio.create_task(clock.until_waiting(within=2))
    await asyncio.sleep(0)
    assert not waiter.done()

    clock.call_later(1, lambda: None)
    await waiter

    assert clock.waiting() == 2
    assert clock.waiting(within=2) == 1


async def test_a_jump_moves_the_wall_clock_alone(clock: ManualClock) -> None:
    before = clock.now()
    due = due_in(clock, 10)

    clock.jump(-3600)

    assert clock.now() == before - 3600
    assert clock.monotonic() == 0
    assert left_of(clock, due) == 10


async def test_time_passes_by_a_timedelta_too(clock: ManualClock) -> None:
    before, slept = clock.now(), asyncio.create_task(clock.sleep(25 * 86_400))
    await clock.until_waiting()

    clock.advance(timedelta(days=25))
    clock.jump(timedelta(hours=1))

    await slept
    assert clock.now() == before + 25 * 86_400 + 3600


async def test_time_does_not_go_back(clock: ManualClock) -> None:
    with pytest.raises(ValueError, match="jump"):
        clock.advance(-1)
