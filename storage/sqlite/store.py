"""A store in a SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from ..clock import Clock
from ..errors import StoreError
from . import opening
from .base import SqlStore
from .epoch import Opening, leave_tree, take_over
from .executor import ThreadExecutor
from .lock import LockFile
from .reader import Reader
from .schema import migrate
from .thread import ConnectionThread, to_the_end
from .trouble import alarm_of
from .upkeep import FileUpkeep, truncate
from .writer import Writer

__all__ = ["Durability", "SqliteStore"]

T = TypeVar("T")

Durability = Literal["full", "normal"]
"""What a power cut may take: nothing that was acknowledged, or the newest of it."""


class SqliteStore(SqlStore):
    """A store in a SQLite file, owned by this process while it is open.

    `durability` is "full" (what was acknowledged survives a power cut) or "normal" (a power cut
    can lose the newest of it; the death of the process cannot). `wait` is how many seconds to wait
    for a file that is in use. After `store_patience` seconds in which it could not commit, the
    store gives up with StoreFailed. A file on a network file system is refused, unless
    `allow_network_fs`. After `close` it can be opened again, under a new epoch.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Clock,
        durability: Durability = "full",
        wait: float = 0,
        store_patience: float = 60,
        allow_network_fs: bool = False,
    ) -> None:
        super().__init__(os.fspath(path), clock=clock, store_patience=store_patience)
        self._durability = durability
        self._wait = wait
        self._allow_network_fs = allow_network_fs
        self._lock: LockFile | None = None
        self._executor: ThreadExecutor | None = None

    async def open(self, *, tree: str | None = None) -> None:
        """Own the file under a new epoch; it is created when there is none.

        When it fails or is cancelled, nothing stays open and the file is not owned; a file that
        is refused is unchanged. Raises StoreInUse, StoreMissing, StoreReadOnly, StoreUnreadable,
        ForeignStore, StoreTooNew, NetworkFilesystem, or StoreError for what has no name.
        """
        file = opening.resolve(self._path)
        opening.check_place(file, self._allow_network_fs)
        lock = await LockFile.acquire(file, self._clock, self._wait)
        owned = asyncio.create_task(self._open(file, lock, tree))
        try:
            await to_the_end(owned)
        except asyncio.CancelledError:
            await self.close()
            raise

    async def _open(self, file: Path, lock: LockFile, tree: str | None) -> None:
        """Open a file whose lock is held; on any error all is closed and the lock let go."""
        upkeep = FileUpkeep(file, lock)
        writing = ThreadExecutor(opening.uri_of(file, "rw"), partial(self._prepare, upkeep))
        reading = ThreadExecutor(opening.uri_of(file, "ro"), _prepare_reader)
        try:
            await _check_or_create(file)
            lock.adopt(file)
            await writing.open()
            taken = await writing.run(partial(self._take_over, tree))
            await reading.open()
        except BaseException as error:
            await reading.close()
            await writing.close()
            lock.release()
            if isinstance(error, sqlite3.Error):
                raise StoreError(self._path, alarm_of(error).what) from error
            raise
        self._lock, self._executor = lock, writing
        self._orderly_epochs = lock.orderly_epochs
        self._start(taken, writing, reading, upkeep)

    def _prepare(self, upkeep: FileUpkeep, connection: sqlite3.Connection) -> None:
        upkeep.before()
        opening.set_pragmas(connection, self._durability)

    def _take_over(self, tree: str | None, connection: sqlite3.Connection) -> Opening:
        migrate(connection)
        taken = take_over(connection, self._clock)
        if tree is not None:
            leave_tree(connection, self._clock, taken, tree)
        return taken

    async def _disconnect(self, writer: Writer, reader: Reader) -> None:
        lock, executor = self._lock, self._executor
        if lock is None or executor is None:
            return
        try:
            if writer.silenced:
                lock.note_orderly(self.epoch)
            await reader.close()
        finally:
            self._lock = self._executor = None
            try:
                await executor.close(truncate)
            finally:
                lock.release()


async def _check_or_create(file: Path) -> None:
    """Check a file that exists; otherwise let SQLite create an empty one."""
    opening.check_links(file)
    size = opening.size_of(file)
    if size is None:
        await _through(file, "rwc", _nothing)
    elif size and not await _through(file, "ro", partial(opening.is_checked, path=file)):
        await _through(file, "rw", partial(opening.check_contents, path=file))


async def _through(file: Path, mode: str, function: Callable[[sqlite3.Connection], T]) -> T:
    """What `function` returns, called with a connection that is closed again."""
    connection = await ConnectionThread.open(opening.uri_of(file, mode))
    try:
        return await connection.run(function)
    finally:
        await connection.close()


def _nothing(connection: sqlite3.Connection) -> None:
    """To connect is enough."""


def _prepare_reader(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA busy_timeout = 5000")
    connection.execute("PRAGMA temp_store = memory")
    connection.execute("PRAGMA query_only = 1")
