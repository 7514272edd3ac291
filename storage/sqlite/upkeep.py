"""What is done around each batch, in the writing thread."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Protocol

from .lock import LockFile

__all__ = ["FileUpkeep", "NoUpkeep", "Upkeep", "truncate"]

_LIMIT = 64 * 1024 * 1024


class Upkeep(Protocol):
    """Called in the writing thread around each batch."""

    def before(self) -> None:
        """Raise sqlite3.OperationalError if what is written now would be lost."""
        ...

    def after(self, connection: sqlite3.Connection) -> None:
        """Tidy up after a batch that was committed. Raises nothing."""
        ...


class NoUpkeep:
    """For a database in memory."""

    def before(self) -> None:
        """Nothing can be wrong with its place."""

    def after(self, connection: sqlite3.Connection) -> None:
        """There is nothing to tidy up."""


class FileUpkeep:
    """Sees that the file is still in its place, and bounds its write-ahead log.

    SQLite goes on writing to a file that was removed or replaced, and what it writes is lost. It
    moves the log into the main file by itself, but starts it anew only at a moment without
    readers, which need not come.
    """

    def __init__(self, file: Path, lock: LockFile, limit: int = _LIMIT) -> None:
        self._file = file
        self._wal = file.with_name(file.name + "-wal")
        self._lock = lock
        self._limit = limit
        self._next = limit

    def before(self) -> None:
        """Raise sqlite3.OperationalError if the file was removed or replaced."""
        if not self._lock.holds(self._file):
            raise sqlite3.OperationalError(
                f"{self._file} was moved, removed or replaced; put back the file that was there"
            )

    def after(self, connection: sqlite3.Connection) -> None:
        """Empty the log when it has outgrown its limit."""
        size = self._size()
        if size > self._next:
            self._next = self._limit if truncate(connection) else size + self._limit

    def _size(self) -> int:
        try:
            return self._wal.stat().st_size
        except OSError:
            return 0


def truncate(connection: sqlite3.Connection) -> bool:
    """Move the whole log into the main file and empty it; False when a reader is in the way.

    It does not wait for readers. Errors of the disk are left to the next commit.
    """
    try:
        (timeout,) = connection.execute("PRAGMA busy_timeout").fetchone()
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {timeout}")
    except sqlite3.Error:
        return False
    return not busy
