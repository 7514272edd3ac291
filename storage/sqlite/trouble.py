"""What to say, and how long to try, when the store cannot commit."""

from __future__ import annotations

import sqlite3

from ..clock import Clock
from ..interface import Alarm

__all__ = ["Pauses", "alarm_of", "is_of_disk", "passes"]

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0

_SAYINGS = {
    sqlite3.SQLITE_FULL: "the disk is full; free space on it, and the work goes on by itself",
    sqlite3.SQLITE_IOERR: (
        "the disk fails to read or write; look at the system log, and at quotas and size limits"
    ),
    sqlite3.SQLITE_BUSY: (
        "another program holds the lock of the database; find it (fuser FILE) and let it finish"
    ),
    sqlite3.SQLITE_LOCKED: (
        "another connection holds the lock of the database; find it and let it finish"
    ),
    sqlite3.SQLITE_READONLY: (
        "the database has become read-only; make its file, directory and disk writable again"
    ),
    sqlite3.SQLITE_PERM: "the database may not be opened any more; give this user its rights back",
    sqlite3.SQLITE_CANTOPEN: (
        "the database cannot be opened any more; see that its disk is there and its path unchanged"
    ),
    sqlite3.SQLITE_CORRUPT: (
        "the database is damaged; stop, keep a copy of the file, and restore it from a backup"
    ),
    sqlite3.SQLITE_NOTADB: (
        "the file is no database any more; stop, keep a copy of it, and restore it from a backup"
    ),
}

_OF_DISK = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}

_WRONG = {
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_MISUSE,
    sqlite3.SQLITE_RANGE,
    sqlite3.SQLITE_TOOBIG,
}


def alarm_of(error: Exception) -> Alarm:
    """The alarm that an error of SQLite amounts to."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return Alarm(f"the store cannot commit: {error}", error)
    saying = _SAYINGS.get(code & 0xFF, "the store cannot commit")
    return Alarm(f"{saying} ({error})", error)


def is_of_disk(error: Exception) -> bool:
    """Whether the disk failed, or a lock or a right on it: nothing is said of the file."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _OF_DISK


def passes(error: sqlite3.DatabaseError) -> bool:
    """Whether it may be gone at the next try: not where the statement itself is wrong."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    wrong = code is not None and code & 0xFF in _WRONG
    return not (wrong or isinstance(error, sqlite3.ProgrammingError))


class Pauses:
    """When something is tried again: at once, then after pauses that grow to 2 s."""

    def __init__(self, clock: Clock, patience: float) -> None:
        self._clock = clock
        self._until = clock.monotonic() + patience
        self._pause = 0.0

    def end(self) -> None:
        """Be out of patience."""
        self._until = self._clock.monotonic()

    async def next(self) -> bool:
        """Wait until it is time to try again; False when patience is over."""
        left = self._until - self._clock.monotonic()
        if self._pause:
            if left <= 0:
                return False
            await self._clock.sleep(min(self._pause, left))
        self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        return True
