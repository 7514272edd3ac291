"""A SQLite connection in a thread of its own, used one whole function at a time.

aiosqlite gives the thread. Its methods hand over one statement each, and a change of threads costs
more than most statements do, so we hand over a function that does a whole transaction: one change
there and one back. aiosqlite has no public call for that, but it has one that passes a Python
function to the connection, in its thread: `create_function`. Our connection class, which
aiosqlite lets us choose, runs such a function when it comes under our own name.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import aiosqlite

__all__ = ["ConnectionThread", "to_the_end"]

T = TypeVar("T")

_RUN = "everstep: run this"


class _Connection(sqlite3.Connection):
    """A connection that can be handed a function of itself through `create_function`."""

    def create_function(
        self,
        name: str,
        narg: int,
        func: Callable[..., Any] | None,
        *,
        deterministic: bool = False,
    ) -> None:
        if name == _RUN and func is not None:
            func(self)
        else:
            super().create_function(name, narg, func, deterministic=deterministic)


class ConnectionThread:
    """One connection and its thread.

    The thread is a daemon: a process that never closed its connection still ends, as if it had
    been killed, which loses nothing that was committed.
    """

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self._hand_over: Callable[..., Coroutine[Any, Any, None]] = connection.create_function  # pyright: ignore[reportUnknownMemberType]  untyped there

    @classmethod
    async def open(cls, uri: str) -> ConnectionThread:
        """Connect in a new thread. Cancelling leaves no thread and no connection behind."""
        proxy = _in_daemon_thread(
            lambda: aiosqlite.connect(uri, uri=True, factory=_Connection, isolation_level=None)
        )
        opening = asyncio.create_task(_connect(proxy))
        try:
            await to_the_end(opening)
        except asyncio.CancelledError:
            if not opening.cancelled() and opening.exception() is None:
                await proxy.close()
            raise
        return cls(proxy)

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """What `function` returns or raises, called in the thread with the connection.

        Functions run one after the other, in the order of the calls. Cancelling the caller does
        not stop a function that was handed over.
        """
        results: list[T] = []

        def call(connection: sqlite3.Connection) -> None:
            results.append(function(connection))

        await self._hand_over(_RUN, 0, call)
        return results[0]

    async def close(self) -> None:
        """Close after all functions handed over, and end the thread. Idempotent.

        A caller that is cancelled is only held up until that is done.
        """
        await to_the_end(asyncio.ensure_future(self._connection.close()))


async def _connect(proxy: aiosqlite.Connection) -> None:
    _ = await proxy


async def to_the_end(task: asyncio.Task[T]) -> T:
    """Await a task which its awaiter's cancellation must not reach.

    A cancellation that arrives meanwhile is raised when the task is through.
    """
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()
        raise cancelled
    return task.result()


def _in_daemon_thread(make: Callable[[], T]) -> T:
    """What `make` returns, called in a daemon thread: threads it creates are daemons too.

    aiosqlite creates its thread without saying which kind; a thread inherits that from its maker.
    """
    made: list[T] = []
    maker = threading.Thread(target=lambda: made.append(make()), daemon=True)
    maker.start()
    maker.join()
    return made[0]
