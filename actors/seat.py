"""What a life asks of the slot that it holds in a pool."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Seat"]


class Seat(Protocol):
    """The slot of a pool that a life holds, but not while it rests or backs off for long."""

    @property
    def held(self) -> bool:
        """Whether it has its slot."""
        ...

    async def again(self) -> None:
        """Return when it has its slot again, or is over. Cancelled, it may still get it."""
        ...

    def rests(self) -> None:
        """It needs its slot no longer."""
        ...

    def wakes(self) -> bool:
        """Whether it has its slot again: where one is free."""
        ...
