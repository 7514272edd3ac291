"""The reading side of a store: each call is one short transaction, and many share a hop."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from ..clock import Clock
from ..errors import StoreClosed, StoreFailed, StoreUnreadable, TaskNotFound
from ..records import Loaded, StepRow
from . import queries
from .executor import Executor
from .hops import Hops
from .queries import appends_page, steps_page
from .trouble import Pauses, alarm_of, passes

__all__ = ["Reader"]

T = TypeVar("T")

_PAGE = 1000
"""Rows that are read in one transaction."""


class Reader:
    """Runs reads on a connection that cannot write, and tries again when the disk fails."""

    def __init__(self, path: str, executor: Executor, clock: Clock, patience: float) -> None:
        self._path = path
        self._executor = executor
        self._hops = Hops(executor)
        self._clock = clock
        self._patience = patience
        self._closed = False

    async def run(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """What `read` returns. Raises StoreFailed when that was not to be had in time.

        A statement that is wrong is not tried again: what SQLite says of it is raised.
        """
        try:
            return await self._hops.run(read)
        except sqlite3.DatabaseError as error:
            return await self._again(read, error)

    async def _again(
        self, read: Callable[[sqlite3.Connection], T], error: sqlite3.DatabaseError
    ) -> T:
        pauses = Pauses(self._clock, self._patience)
        while not self._closed and passes(error):
            if not await pauses.next():
                raise StoreFailed(
                    self._path, f"it cannot be read: {alarm_of(error).what}"
                ) from error
            try:
                await self._executor.reopen()
                return await self._executor.run(read)
            except sqlite3.DatabaseError as newer:
                error = newer
        if self._closed:
            raise StoreClosed(self._path, "it is closed")
        raise error

    async def load(self, key: int, flow: bool, recent: bool) -> Loaded:
        """All that an incarnation needs; what is many comes in pages. Raises TaskNotFound."""
        head = await self.run(partial(queries.head, key=key, flow=flow, recent=recent, limit=_PAGE))
        if head is None:
            raise TaskNotFound(f"#{key}")
        if head.base is None:
            raise StoreUnreadable(self._path, f"the task {head.row.id!r} has no snapshot")
        chapter, upto = head.row.progress.chapter, head.base.seq
        since = upto if recent else -1
        await self._other_pages(
            head.steps,
            lambda last, conn: steps_page(conn, key, chapter, since, last.identity, _PAGE),
        )
        await self._other_pages(
            head.step_appends, lambda last, conn: appends_page(conn, key, upto, last[0], _PAGE)
        )
        appends = head.appends + [(seq, data) for _, seq, data in head.step_appends]
        return Loaded(
            row=head.row,
            base=head.base,
            steps=tuple(sorted(head.steps, key=_by_number)),
            runs=head.runs,
            appends=tuple(sorted(appends, key=lambda one: one[0])),
            effects=head.effects,
        )

    async def _other_pages(
        self, rows: list[T], page: Callable[[T, sqlite3.Connection], list[T]]
    ) -> None:
        """Add the pages after the first: each is read from the last row on."""
        while rows and len(rows) % _PAGE == 0:
            found = await self.run(partial(page, rows[-1]))
            if not found:
                return
            rows += found

    async def close(self) -> None:
        """Finish the reads that are in the thread; those that wait or try again get StoreClosed."""
        self._closed = True
        await self._executor.close()
        await self._hops.ended()


def _by_number(step: StepRow) -> float:
    return math.inf if step.seq is None else step.seq
