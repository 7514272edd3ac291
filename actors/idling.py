"""How long something has been idle, without a timer for each time that it is."""

from __future__ import annotations

from collections.abc import Callable

from ..storage.clock import Clock, Timer

__all__ = ["Idling"]


class Idling:
    """Tells when it has lasted for so many seconds. What begins and ends often costs no timer.

    One that was armed for an earlier time is left as it is, and armed anew when it fires.
    """

    __slots__ = ("_after", "_clock", "_since", "_tell", "_timer")

    def __init__(self, clock: Clock, after: float, tell: Callable[[], None]) -> None:
        self._clock = clock
        self._after = after
        self._tell = tell
        self._since: float | None = None
        self._timer: Timer | None = None

    def begins(self) -> None:
        self._since = self._clock.monotonic()
        if self._timer is None:
            self._timer = self._clock.call_later(self._after, self._fired)

    def ends(self) -> None:
        self._since = None

    def cancel(self) -> None:
        """Nothing more is to be told."""
        self._since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fired(self) -> None:
        self._timer = None
        if self._since is None:
            return
        left = self._since + self._after - self._clock.monotonic()
        if left > 0:
            self._timer = self._clock.call_later(left, self._fired)
        else:
            self._tell()
