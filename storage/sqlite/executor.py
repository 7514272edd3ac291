"""Who runs a function of the connection: a thread of its own, or the loop itself."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Protocol, TypeVar

from .assist import Assist
from .thread import ConnectionThread

__all__ = ["Executor", "InlineExecutor", "ThreadExecutor"]

T = TypeVar("T")

Prepare = Callable[[sqlite3.Connection], None]


class Executor(Protocol):
    """Runs functions of one connection, one after the other, in the order of the calls."""

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """What `function` returns or raises. Cancelling the caller does not stop the function."""
        ...

    async def reopen(self) -> None:
        """Drop the connection, with any transaction it is in, and make a new one."""
        ...

    async def close(self) -> None:
        """Run what was handed over, then close the connection. Idempotent."""
        ...


class ThreadExecutor:
    """Runs functions in the connection's own thread; the loop goes on meanwhile."""

    def __init__(self, uri: str, prepare: Prepare) -> None:
        self._uri = uri
        self._prepare = prepare
        self._thread: ConnectionThread | None = None
        self._closed = False
        self._changing = asyncio.Lock()

    async def open(self) -> None:
        """Connect and prepare the connection; leaves nothing open when that fails."""
        async with self._changing:
            await self._open()

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        if self._thread is None:
            raise sqlite3.OperationalError("the database is not open")
        assist = Assist(asyncio.get_running_loop())

        def watched(connection: sqlite3.Connection) -> T:
            try:
                return function(connection)
            finally:
                assist.done()

        try:
            return await self._thread.run(watched)
        finally:
            assist.stop()

    async def reopen(self) -> None:
        async with self._changing:
            await self._drop(None)
            await self._open()

    async def close(self, last: Callable[[sqlite3.Connection], object] | None = None) -> None:
        """Run what was handed over, then `last`, then close for good. Idempotent."""
        self._closed = True
        async with self._changing:
            await self._drop(last)

    async def _open(self) -> None:
        if self._closed:
            raise sqlite3.OperationalError("the database has been closed")
        thread = await ConnectionThread.open(self._uri)
        try:
            await thread.run(self._prepare)
        except BaseException:
            await thread.close()
            raise
        self._thread = thread

    async def _drop(self, last: Callable[[sqlite3.Connection], object] | None) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            return
        try:
            if last is not None:
                await thread.run(last)
        finally:
            await thread.close()


class InlineExecutor:
    """Runs functions at once, on the loop: for a database in memory."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        await asyncio.sleep(0)
        return function(self._connection)

    async def reopen(self) -> None:
        """Undo an open transaction: a database in memory is gone when it is closed."""
        if self._connection.in_transaction:
            self._connection.rollback()

    async def close(self) -> None:
        await self.reopen()
