"""Keeps a busy event loop from starving the thread that writes.

A loop without a pause gives the interpreter lock away for a microsecond each turn, when it looks
for I/O. The writing thread is woken by that, comes too late, and begins its wait for the lock
anew, so that it may get nowhere for minutes. Only blocking the loop's thread for a moment lets it
through.
"""

from __future__ import annotations

import asyncio
import threading
import time

__all__ = ["Assist"]

_FIRST_LOOK = 0.002
_LONGEST_BLOCK = 0.1
_LATER_LOOK = 0.1
_LATER_BLOCK = 0.02


class Assist:
    """Watches over one piece of work handed to another thread, from the loop's thread.

    Times are real ones: what is watched is this process, not the clock of the runtime.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._through = threading.Event()
        self._look = _FIRST_LOOK
        self._block = _LONGEST_BLOCK
        self._arm()

    def done(self) -> None:
        """The work is through. Called in the thread that does it."""
        self._through.set()

    def stop(self) -> None:
        """Watch no longer. Called on the loop."""
        self._timer.cancel()

    def _arm(self) -> None:
        self._wall = time.monotonic()
        self._burned = time.thread_time()
        self._timer = self._loop.call_later(self._look, self._check)

    def _check(self) -> None:
        """Block the loop until the work is through, if the loop left no time for it.

        A loop that was mostly idle starved nobody: the disk is slow, and blocking would not help.
        """
        if self._through.is_set():
            return
        wall = time.monotonic() - self._wall
        burned = time.thread_time() - self._burned
        if burned * 2 > wall and not self._through.wait(self._block):
            self._look, self._block = _LATER_LOOK, _LATER_BLOCK
        self._arm()
