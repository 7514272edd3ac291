"""An event loop for which time passes only when nothing else is left to do."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Mapping
from typing import Any

from .manual_clock import ManualClock

__all__ = ["IdleLoop", "Stuck"]

_LONGEST = 100_000.0
_REAL_PATIENCE = 5.0


class Stuck(RuntimeError):
    """Nothing is left to do, no timer is pending, and the work has not ended."""


class IdleLoop(asyncio.SelectorEventLoop):
    """Whenever its tasks all wait, the clock moves to the next timer at once.

    A backoff of an hour takes no time, and everything happens in a fixed order. It does not wait
    for threads, so what it runs must not use any. Raises Stuck out of the running loop when the
    tasks wait for nothing, or for longer than a day of the clock.
    """

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(_IdleSelector(clock))


class _IdleSelector(selectors.BaseSelector):
    def __init__(self, clock: ManualClock) -> None:
        self._inner = selectors.DefaultSelector()
        self._clock = clock
        self._end = clock.monotonic() + _LONGEST

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = self._inner.select(0)
        if events or timeout == 0:
            return events
        if self._clock.monotonic() > self._end:
            raise Stuck(f"the work has not ended after {_LONGEST:,.0f} seconds of the manual clock")
        if self._clock.advance_to_next() is not None:
            return []
        events = self._inner.select(_REAL_PATIENCE if timeout is None else timeout)
        if not events and timeout is None:
            raise Stuck("all tasks wait, and nothing is pending that could wake one")
        return events

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.modify(fileobj, events, data)

    def close(self) -> None:
        self._inner.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()
