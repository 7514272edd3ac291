"""The bound of the write-ahead log."""

from __future__ import annotations

import sqlite3
from pathlib import Path

__all__ = ["WalLimit", "truncate"]

LIMIT = 64 * 1024 * 1024


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


class WalLimit:
    """Empties the log when it has outgrown its limit.

    SQLite moves the log into the main file by itself, but starts it anew only at a moment without
    readers, which need not come.
    """

    def __init__(self, database: Path, limit: int = LIMIT) -> None:
        self._wal = database.with_name(database.name + "-wal")
        self._limit = limit
        self._next = limit

    def __call__(self, connection: sqlite3.Connection) -> None:
        size = self._size()
        if size > self._next:
            self._next = self._limit if truncate(connection) else size + self._limit

    def _size(self) -> int:
        try:
            return self._wal.stat().st_size
        except OSError:
            return 0
