"""When what was asked to stop is cut off, on a loop that may be blocked meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from ...storage.clock import Clock, Timer

__all__ = ["Deadline"]

_BLOCKED = 0.01
"""Seconds by which a timer is late on a loop that somebody has blocked."""


class Deadline:
    """Calls `over` after `seconds`, and later by as long as the loop was blocked at their end.

    While the loop is blocked nobody can clean up, so that time is not counted; but no more of it
    than `seconds`, and once: a child that itself blocks the loop again and again is cut off too.
    """

    __slots__ = ("_clock", "_due", "_over", "_seconds", "_timer")

    def __init__(self, clock: Clock, seconds: float, over: Callable[[], object]) -> None:
        self._clock = clock
        self._seconds = seconds
        self._over = over
        self._due = clock.monotonic() + seconds
        self._timer: Timer = clock.call_later(seconds, self._passed)

    def cancel(self) -> None:
        """Call nothing any more. May be called twice."""
        self._timer.cancel()

    def _passed(self) -> None:
        late = self._clock.monotonic() - self._due
        if late > _BLOCKED:
            self._timer = self._clock.call_later(min(late, self._seconds), self._over)
        else:
            self._over()
