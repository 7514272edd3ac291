"""Time as an object, so that a test can own it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

__all__ = ["Clock", "Due", "SystemClock", "Timer", "due_in", "left_of", "shown_seconds"]


class Timer(Protocol):
    """What `Clock.call_later` returns."""

    def cancel(self) -> None:
        """Make sure that the callback is not called any more. May be called twice."""
        ...


class Clock(Protocol):
    """Where all time of a runtime comes from. Seconds everywhere."""

    def now(self) -> float:
        """The instant in UTC, as seconds since 1970. May jump; is what gets stored."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back within this process."""
        ...

    def boot(self) -> tuple[str, float]:
        """Name of this boot of the machine, and the seconds since it, suspension included.

        Comparable between processes while the name is the same; an empty name is never the same.
        """
        ...

    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` on the running loop after `delay` seconds; at once if not positive."""
        ...

    async def sleep(self, delay: float) -> None:
        """Return after `delay` seconds. Cancelling leaves nothing behind."""
        ...


class SystemClock:
    """The clock of the machine and of the running event loop."""

    def __init__(self) -> None:
        self._boot = _boot_name()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def boot(self) -> tuple[str, float]:
        return self._boot, _since_boot() if self._boot else 0.0

    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(delay, callback)

    async def sleep(self, delay: float) -> None:
        await asyncio.sleep(delay)


def _boot_name() -> str:
    """The kernel's name of this boot, or empty where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Due(NamedTuple):
    """An instant that was chosen as a delay, kept so that a clock that jumps cannot stretch it."""

    at: float
    """The instant in UTC, in seconds."""
    boot: float | None
    """The same instant in seconds since boot; None when that is not known or no longer valid."""
    delay: float
    """The delay that was chosen, in seconds: never more than this is waited."""


def due_in(clock: Clock, delay: float) -> Due:
    """What to store so that `delay` seconds from now are waited, over a restart too."""
    name, since_boot = clock.boot()
    return Due(clock.now() + delay, since_boot + delay if name else None, delay)


def left_of(clock: Clock, due: Due) -> float:
    """Seconds left of a stored delay: never more than was chosen, never less than nothing."""
    _, since_boot = clock.boot()
    left = due.at - clock.now() if due.boot is None else due.boot - since_boot
    return min(max(left, 0.0), due.delay)


def shown_seconds(seconds: float) -> str:
    """A length of time for people, never with an exponent where it is long."""
    return f"{seconds:g} s" if seconds < 1e5 else f"{seconds:.0f} s"
