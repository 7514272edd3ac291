"""What a pool shows of itself, as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ..storage.record import record

__all__ = ["PoolEvent", "PoolInfo", "PoolListener"]

PoolEvent = Literal["storm_began", "storm_ended"]
PoolListener = Callable[[PoolEvent, str, bool], object]
"""Hears of a pool: the kind of event, the reason, and whether it is expected."""


@record
class PoolInfo:
    """A pool at one moment. All of it is what this process knows; nothing was read for it."""

    name: str
    running: int
    max_running: int
    lanes: dict[str | None, int]
    """Running tasks by lane, of the lanes that have any; under None those without a lane."""
    storm: float | None
    """Seconds since the storm began; None where there is none."""
    crashes: int
    """Crashes in the window of `storm`; 0 without such a limit."""
    starts: int
    """Tasks let in, in the window of `rate`; 0 without such a limit."""
    next_look: float | None
    """Seconds until the pool looks again for a task that falls due or for which `rate` or a storm
    made it wait; None where no task is known to wait for that."""
    suspects: tuple[str, ...]
    """Ids of the suspects that are being tried."""
