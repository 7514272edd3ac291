"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from datetime import timedelta
from functools import partial

__all__ = ["ManualClock"]


class _Timer:
    """A callback that waits for its instant; cancelled by forgetting the callback."""

    __slots__ = ("callback", "clock", "due", "number")

    def __init__(
        self, clock: ManualClock, due: float, number: int, callback: Callable[[], object]
    ) -> None:
        self.clock = clock
        self.due = due
        self.number = number
        self.callback: Callable[[], object] | None = callback

    def __lt__(self, other: _Timer) -> bool:
        return (self.due, self.number) < (other.due, other.number)

    def cancel(self) -> None:
        self.callback = None


class ManualClock:
    """Time for tests: it moves only by `advance` (all of it) and `jump` (the wall clock alone).

    One clock may serve several runtimes one after the other: to them it is one boot of one
    machine, whose name is `boot`. An empty name is a machine that cannot tell.

        clock = ManualClock()
        async with Runtime(":memory:", clock=clock) as runtime:
            ...
            await clock.until_waiting(within=5)   # the retry's backoff has begun
            clock.advance(5)
    """

    def __init__(self, now: float = 1_750_000_000.0, *, boot: str = "manual") -> None:
        self._wall = now
        self._passed = 0.0
        self._boot = boot
        self._number = 0
        self._timers: list[_Timer] = []
        self._watchers: list[tuple[int, float | None, asyncio.Future[None]]] = []

    # --- as a Clock -------------------------------------------------------------------

    def now(self) -> float:
        return self._wall + self._passed

    def monotonic(self) -> float:
        return self._passed

    def boot(self) -> tuple[str, float]:
        return self._boot, self._passed

    def call_later(self, delay: float, callback: Callable[[], object]) -> _Timer | asyncio.Handle:
        """Call `callback` when the clock has been advanced so far; on the next turn if at once."""
        if delay <= 0:
            return asyncio.get_running_loop().call_soon(callback)
        self._number += 1
        timer = _Timer(self, self._passed + delay, self._number, callback)
        heapq.heappush(self._timers, timer)
        self._tell_watchers()
        return timer

    async def sleep(self, delay: float) -> None:
        """Return when the clock has been advanced by `delay`. Cancelling leaves nothing behind."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay, partial(_wake, woken))
        try:
            await woken
        finally:
            timer.cancel()

    # --- for the test -----------------------------------------------------------------

    def advance(self, seconds: float | timedelta) -> None:
        """Let `seconds` pass, or a timedelta, firing what falls due in the order of its instants.

        Plain callbacks run inside the call; a coroutine that slept goes on with the loop's next
        turns, so what it then waits for counts from the end of this advance.
        """
        seconds = _seconds_of(seconds)
        if seconds < 0:
            raise ValueError(f"seconds={seconds}: time does not go back; use jump() for the wall")
        end = self._passed + seconds
        while self._timers and self._timers[0].due <= end:
            timer = heapq.heappop(self._timers)
            self._passed = max(self._passed, timer.due)
            if timer.callback is not None:
                timer.callback()
        self._passed = end

    def advance_to_next(self) -> float | None:
        """Let time pass until the next timer falls due; how long that was, or None without one."""
        while self._timers and self._timers[0].callback is None:
            heapq.heappop(self._timers)
        if not self._timers:
            return None
        seconds = max(0.0, self._timers[0].due - self._passed)
        self.advance(seconds)
        return seconds

    def forget(self) -> None:
        """Drop all timers: the event loop that they belong to has ended."""
        self._timers.clear()

    def jump(self, seconds: float | timedelta) -> None:
        """Set the wall clock forward or back, as an operator or NTP does; no time passes."""
        self._wall += _seconds_of(seconds)

    def waiting(self, *, within: float | None = None) -> int:
        """How many timers and sleeps are pending; with `within`, due in so many seconds."""
        until = None if within is None else self._passed + within
        pending = (timer for timer in self._timers if timer.callback is not None)
        return sum(1 for timer in pending if until is None or timer.due <= until)

    async def until_waiting(self, n: int = 1, *, within: float | None = None) -> None:
        """Return when at least `n` timers are pending, counted as by `waiting`.

        A runtime has slow timers of its own; `within` tells a backoff of seconds from them.
        """
        if self.waiting(within=within) >= n:
            return
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watcher = (n, within, arrived)
        self._watchers.append(watcher)
        try:
            await arrived
        finally:
            self._watchers.remove(watcher)

    def _tell_watchers(self) -> None:
        for n, within, arrived in self._watchers:
            if not arrived.done() and self.waiting(within=within) >= n:
                arrived.set_result(None)


def _seconds_of(time: float | timedelta) -> float:
    return time.total_seconds() if isinstance(time, timedelta) else time


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
