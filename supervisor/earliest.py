"""A timer for the earliest of the instants that somebody asked for."""

from __future__ import annotations

from collections.abc import Callable

from ..storage.clock import Clock, Timer

__all__ = ["Earliest"]


class Earliest:
    """Calls `callback` once, at the earliest instant it was armed for; then it is to be armed anew.

    May be armed at any time, and cancelled twice.
    """

    def __init__(self, clock: Clock, callback: Callable[[], object]) -> None:
        self._clock = clock
        self._callback = callback
        self._timer: Timer | None = None
        self._at = 0.0

    def arm(self, delay: float) -> None:
        """Ring after `delay` seconds, or earlier where that is armed already."""
        at = self._clock.monotonic() + delay
        if self._timer is not None:
            if self._at <= at:
                return
            self._timer.cancel()
        self._at = at
        self._timer = self._clock.call_later(delay, self._ring)

    def cancel(self) -> None:
        """Ring no more, until it is armed again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def left(self) -> float | None:
        """Seconds until it rings; None where it is not armed."""
        return None if self._timer is None else max(self._at - self._clock.monotonic(), 0.0)

    def _ring(self) -> None:
        self._timer = None
        self._callback()
