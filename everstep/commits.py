"""Tells those who wait for a task, or for any, that something was committed."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from .actors.ledger import Ledger
from .storage.errors import EverstepError
from .storage.records import ENDED, Status, TaskRow

__all__ = ["Commits"]

_SETTLED = ENDED | {Status.PAUSED}
"""Statuses in which a task does nothing more by itself."""

T = TypeVar("T")


class Commits:
    """Who waits for the next commit of which task. Holds nothing for those who do not wait.

    What is made before the store is read misses nothing: whoever finds no news there waits, and
    is woken by the commit that brings some.
    """

    def __init__(self) -> None:
        self._all: set[asyncio.Future[None]] = set()
        self._any: dict[int, set[asyncio.Future[None]]] = {}
        self._settled: dict[int, set[asyncio.Future[TaskRow]]] = {}
        self._closed: EverstepError | None = None

    def told(self, ledger: Ledger) -> None:
        """Wake those who wait for this task. Called on the loop after each commit."""
        key, progress = ledger.row.key, ledger.committed
        assert progress is not None  # there was a commit
        if self._all or self._any:
            self.woken(key)
        if progress.status in _SETTLED and key in self._settled:
            _wake(self._settled[key], TaskRow(*ledger.row, progress))

    def woken(self, key: int) -> None:
        """Wake those who follow this task, of which others than its owner may have written."""
        _wake(self._all, None)
        _wake(self._any.get(key, ()), None)

    @contextmanager
    def watch_all(self) -> Generator[asyncio.Future[None]]:
        """A future of the next commit of any task. Raises what `close` was given."""
        waiter = self._new(asyncio.Future[None])
        self._all.add(waiter)
        try:
            yield waiter
        finally:
            self._all.discard(waiter)

    def watch(self, key: int) -> AbstractContextManager[asyncio.Future[None]]:
        """A future of the task's next commit. Raises what `close` was given."""
        return _Among(self._any, key, self._new(asyncio.Future[None]))

    def watch_settled(self, key: int) -> AbstractContextManager[asyncio.Future[TaskRow]]:
        """A future of the next commit that may have ended the task. Raises what `close` was given.

        It is told the task's row as it was committed; when that is read, there may be a newer one.
        """
        return _Among(self._settled, key, self._new(asyncio.Future[TaskRow]))

    def close(self, error: EverstepError) -> None:
        """Raise `error` in all who wait, and in all who come."""
        self._closed = error
        for waiter in self._waiters():
            if not waiter.done():
                waiter.set_exception(error)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiters())

    def _new(self, kind: type[asyncio.Future[T]]) -> asyncio.Future[T]:
        if self._closed is not None:
            raise self._closed
        return kind(loop=asyncio.get_running_loop())

    def _waiters(self) -> list[asyncio.Future[Any]]:
        sets: list[Iterable[asyncio.Future[Any]]] = [self._all]
        sets += [*self._any.values(), *self._settled.values()]
        return [waiter for present in sets for waiter in present]


class _Among(AbstractContextManager[asyncio.Future[T]]):
    """One who waits for a task, among others, while it is entered."""

    __slots__ = ("_key", "_waiter", "_waiters")

    def __init__(
        self, waiters: dict[int, set[asyncio.Future[T]]], key: int, waiter: asyncio.Future[T]
    ) -> None:
        self._waiters = waiters
        self._key = key
        self._waiter = waiter

    def __enter__(self) -> asyncio.Future[T]:
        self._waiters.setdefault(self._key, set()).add(self._waiter)
        return self._waiter

    def __exit__(self, *_: object) -> None:
        present = self._waiters[self._key]
        present.discard(self._waiter)
        if not present:
            del self._waiters[self._key]


def _wake(waiters: Iterable[asyncio.Future[T]], what: T) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(what)
