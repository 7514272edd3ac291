"""Tells those who wait for a task that something of it was committed."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from .actors.ledger import Ledger
from .storage.errors import EverstepError
from .storage.records import ENDED, Progress, Status, TaskRow

__all__ = ["Commits"]

_SETTLED = ENDED | {Status.PAUSED}
"""Statuses in which a task does nothing more by itself."""

Waiter = asyncio.Future[TaskRow]


class Commits:
    """Who waits for the next commit of which task. Holds nothing for those who do not wait.

    They are told the task's row as it was committed; when they look, there may be a newer one.
    """

    def __init__(self) -> None:
        self._any: dict[int, set[Waiter]] = {}
        self._settled: dict[int, set[Waiter]] = {}
        self._closed: EverstepError | None = None

    def told(self, ledger: Ledger) -> None:
        """Wake those who wait for this task. Called on the loop after each commit."""
        key, progress = ledger.row.key, ledger.committed
        assert progress is not None  # there was a commit
        _wake(self._any.get(key), ledger.row, progress)
        if progress.status in _SETTLED:
            _wake(self._settled.get(key), ledger.row, progress)

    @contextmanager
    def watch(self, key: int, *, settled: bool = False) -> Generator[Waiter]:
        """A future of the task's next commit; with `settled`, of one that may have ended it.

        Made before the store is read, it misses nothing. Raises what `close` was given.
        """
        if self._closed is not None:
            raise self._closed
        waiters = self._settled if settled else self._any
        waiter: Waiter = asyncio.get_running_loop().create_future()
        waiters.setdefault(key, set()).add(waiter)
        try:
            yield waiter
        finally:
            present = waiters[key]
            present.discard(waiter)
            if not present:
                del waiters[key]

    def close(self, error: EverstepError) -> None:
        """Raise `error` in all who wait, and in all who come."""
        self._closed = error
        for waiters in (self._any, self._settled):
            for waiter in [one for present in waiters.values() for one in present]:
                if not waiter.done():
                    waiter.set_exception(error)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(len(w) for waiters in (self._any, self._settled) for w in waiters.values())


def _wake(waiters: set[Waiter] | None, row: TaskRow, progress: Progress) -> None:
    for waiter in waiters or ():
        if not waiter.done():
            waiter.set_result(row._replace(progress=progress))
