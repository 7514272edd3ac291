"""A store whose disk keeps a test waiting for as long as the test says."""

from __future__ import annotations

import asyncio

from everstep.storage import Alarm, Draft, MemoryStore
from everstep.testing import ManualClock

__all__ = ["SlowStore"]


class SlowStore(MemoryStore):
    """Takes writes, and while it is held commits none of them."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock=clock)
        self.waits = asyncio.Event()
        """A write waits for the disk."""
        self.fails = False
        """It cannot commit just now, and knows that."""
        self._is_held = False
        self._held: list[Draft] = []

    @property
    def trouble(self) -> Alarm | None:
        return Alarm("the disk is full", None) if self.fails else super().trouble

    def hold(self) -> None:
        """From now on the disk is slow."""
        self.waits.clear()
        self._is_held = True

    def let_go(self) -> None:
        """Commit what waits, and go on."""
        self._is_held, held, self._held = False, self._held, []
        for draft in held:
            super().submit(draft)

    def submit(self, draft: Draft) -> None:
        if self._is_held:
            self._held.append(draft)
            self.waits.set()
        else:
            super().submit(draft)
