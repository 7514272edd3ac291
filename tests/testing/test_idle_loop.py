"""On an idle loop time passes by itself, and only when nothing else is left to do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from everstep.testing import Died, IdleLoop, Life, ManualClock, Stuck, boundary, die, note, noted
from everstep.testing.trail import MemoryTrail

R = TypeVar("R")


def run(clock: ManualClock, main: Coroutine[Any, Any, R]) -> R:
    loop = IdleLoop(clock)
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


def test_a_sleep_of_an_hour_takes_no_time() -> None:
    clock = ManualClock()

    run(clock, clock.sleep(3600))

    assert clock.monotonic() == 3600


def test_sleepers_wake_in_the_order_of_their_instants_and_others_go_first() -> None:
    clock = ManualClock()
    woken: list[str] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(f"{name} at {clock.monotonic():g}")

    async def worker() -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        woken.append(f"worker at {clock.monotonic():g}")

    async def main() -> None:
        await asyncio.gather(sleeper("late", 20), sleeper("early", 10), worker())

    run(clock, main())

    assert woken == ["worker at 0", "early at 10", "late at 20"]


@pytest.mark.real
def test_with_no_timer_pending_it_waits_for_threads() -> None:
    async def main() -> str:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()
        thread = threading.Thread(target=loop.call_soon_threadsafe, args=(future.set_result, "x"))
        thread.start()
        answer = await future
        thread.join()
        return answer

    assert run(ManualClock(), main()) == "x"


def test_work_that_waits_for_ever_is_stuck() -> None:
    clock = ManualClock()
    ended: list[bool] = []

    async def tick() -> None:
        try:
            while True:
                await clock.sleep(30)
        finally:
            ended.append(True)

    loop = IdleLoop(clock)
    task = loop.create_task(tick())
    with pytest.raises(Stuck):
        loop.run_until_complete(task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()

    assert ended == [True]


def test_a_clock_can_be_led_to_its_next_timer_and_forget_what_is_pending() -> None:
    clock = ManualClock()
    loop = IdleLoop(clock)
    fired: list[int] = []

    async def arm() -> None:
        clock.call_later(5, lambda: fired.append(1)).cancel()
        clock.call_later(7, lambda: fired.append(2))
        clock.call_later(9, lambda: fired.append(3))

    loop.run_until_complete(arm())
    assert clock.advance_to_next() == 7
    clock.forget()
    loop.close()

    assert clock.advance_to_next() is None
    assert fired == [2]


def test_who_is_dead_passes_no_boundary_and_notes_nothing() -> None:
    ends: list[bool] = []
    trail = MemoryTrail()
    with Life(Path("memory"), trail, end=lambda: ends.append(True)):
        note("alive", word="yes")
        boundary("first")
        with pytest.raises(Died):
            die()
        with pytest.raises(Died):
            boundary("second")
        note("dead")

        assert noted("alive", word="yes")
        assert not noted("alive", word="no")

    assert ends == [True]
    assert [entry.name for entry in trail] == ["alive", "first"]


def test_outside_of_a_life_nothing_is_noted_and_nobody_dies() -> None:
    note("nothing")
    boundary("nowhere")
    die()

    assert noted("nothing") == []
