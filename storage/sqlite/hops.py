"""Reads that are asked for while others are under way go to the reading thread together.

A hop to a thread and back costs more than most reads do. As with commits there is no window: a
read that finds nobody under way goes at once, and alone.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial
from typing import Any, NamedTuple, TypeVar

from .executor import Executor

__all__ = ["NAME", "Hops"]

T = TypeVar("T")

Read = Callable[[sqlite3.Connection], Any]

NAME = "everstep reader"
_TOGETHER = 64
"""Reads of one hop."""


class _Answer(NamedTuple):
    """What became of a read."""

    value: Any
    error: Exception | None


class Hops:
    """Takes reads to the thread of a connection, in the order of the calls."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._asked: deque[tuple[Read, asyncio.Future[Any]]] = deque()
        self._taken: list[tuple[Read, asyncio.Future[Any]]] = []
        """What has left `_asked` last, answered or not."""
        self._alone = False
        """Whether a read is under way that goes by itself."""
        self._task: asyncio.Task[None] | None = None
        """Takes what was asked for meanwhile; there is none while nobody waits for others."""

    async def run(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """What `read` returns or raises. Cancelling the caller does not stop the read."""
        loop = asyncio.get_running_loop()
        if self._alone or self._task is not None:
            answer: asyncio.Future[T] = loop.create_future()
            self._asked.append((read, answer))
            return await answer
        self._alone = True
        try:
            return await self._executor.run(read)
        finally:
            self._alone = False
            if self._asked:
                self._task = loop.create_task(self._work(), name=NAME, context=Context())
                self._task.add_done_callback(self._left)

    async def ended(self) -> None:
        """Return when all that was asked for is answered. The executor was closed."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _work(self) -> None:
        """Go on until nobody waits, or until the loop ends, which cancels it."""
        while self._asked:
            self._taken.clear()
            for _ in range(min(_TOGETHER, len(self._asked))):
                self._taken.append(self._asked.popleft())
            await self._hop(self._taken)
        self._taken.clear()
        self._task = None

    def _left(self, task: asyncio.Task[None]) -> None:
        """Where it was cancelled, perhaps before it began, or has met a fault: so is who waits."""
        fault = None if task.cancelled() else task.exception()
        if self._task is task:
            self._task = None
            for _, answer in (*self._taken, *self._asked):
                if fault is None:
                    answer.cancel()
                elif not answer.done():
                    answer.set_exception(fault)
            self._taken.clear()
            self._asked.clear()

    async def _hop(self, together: Sequence[tuple[Read, asyncio.Future[Any]]]) -> None:
        try:
            answers = await self._executor.run(partial(_read, [read for read, _ in together]))
        except Exception as error:  # noqa: BLE001  whoever asked is told
            answers = [_Answer(None, error)] * len(together)
        for (_, waiter), answer in zip(together, answers, strict=True):
            if waiter.done():
                continue  # whoever asked was cancelled
            if answer.error is None:
                waiter.set_result(answer.value)
            else:
                waiter.set_exception(answer.error)


def _read(reads: Sequence[Read], connection: sqlite3.Connection) -> list[_Answer]:
    """What became of each read. Called in the thread of the connection."""
    return [_answer(read, connection) for read in reads]


def _answer(read: Read, connection: sqlite3.Connection) -> _Answer:
    try:
        return _Answer(read(connection), None)
    except Exception as error:  # noqa: BLE001  the others of the hop are not to blame
        return _Answer(None, error)
