"""The reading side of a store: each call is one hop and one short transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from ..clock import Clock
from ..errors import StoreClosed, StoreFailed, StoreUnreadable, TaskNotFound
from ..records import Loaded, StepRow
from . import queries
from .executor import Executor
from .queries import Head, appends_page, steps_page
from .trouble import Pauses, alarm_of

__all__ = ["Reader"]

T = TypeVar("T")

_PAGE = 1000
"""Rows that are read in one transaction."""


class Reader:
    """Runs reads on a connection that cannot write, and tries again when the disk fails."""

    def __init__(self, path: str, executor: Executor, clock: Clock, patience: float) -> None:
        self._path = path
        self._executor = executor
        self._clock = clock
        self._patience = patience
        self._closed = False

    async def run(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """What `read` returns. Raises StoreFailed when that was not to be had in time."""
        try:
            return await self._executor.run(read)
        except sqlite3.DatabaseError as error:
            return await self._again(read, error)

    async def _again(
        self, read: Callable[[sqlite3.Connection], T], error: sqlite3.DatabaseError
    ) -> T:
        pauses = Pauses(self._clock, self._patience)
        while not self._closed and not isinstance(error, sqlite3.ProgrammingError):
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

    async def load(self, key: int, flow: bool) -> Loaded:
        """All that an incarnation needs; what is many comes in pages. Raises TaskNotFound."""
        head = await self.run(lambda connection: queries.head(connection, key, flow, _PAGE))
        if head is None:
            raise TaskNotFound(f"#{key}")
        if head.base is None:
            raise StoreUnreadable(self._path, f"the task {head.row.id!r} has no snapshot")
        await self._other_steps(head)
        await self._other_appends(head, head.base.seq)
        appends = head.appends + [(seq, data) for _, seq, data in head.step_appends]
        return Loaded(
            row=head.row,
            base=head.base,
            steps=tuple(sorted(head.steps, key=_by_number)),
            runs=head.runs,
            appends=tuple(sorted(appends, key=lambda one: one[0])),
            effects=head.effects,
        )

    async def _other_steps(self, head: Head) -> None:
        """Add the pages of steps after the first."""
        key, chapter, steps = head.row.key, head.row.progress.chapter, head.steps
        while len(steps) % _PAGE == 0 and steps:
            after = steps[-1].identity
            page = await self.run(
                partial(steps_page, key=key, chapter=chapter, after=after, limit=_PAGE)
            )
            if not page:
                return
            steps += page

    async def _other_appends(self, head: Head, upto: int) -> None:
        """Add the pages of steps' appends after the first."""
        key, appends = head.row.key, head.step_appends
        while len(appends) % _PAGE == 0 and appends:
            after = appends[-1][0]
            page = await self.run(
                partial(appends_page, key=key, upto=upto, after=after, limit=_PAGE)
            )
            if not page:
                return
            appends += page

    async def close(self) -> None:
        """Finish the reads that were begun; those that are tried again get StoreClosed."""
        self._closed = True
        await self._executor.close()


def _by_number(step: StepRow) -> tuple[bool, int]:
    return step.seq is None, step.seq or 0
