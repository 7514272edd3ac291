"""Reading a store that nobody owns, without becoming its owner."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..clock import Clock
from ..errors import EverstepError, StoreError, StoreMissing, StoreUnreadable
from . import opening
from .lock import LockFile
from .trouble import alarm_of

__all__ = ["UNFIT", "read_stopped"]

T = TypeVar("T")

UNFIT = (AttributeError, LookupError, OverflowError, TypeError, ValueError)
"""What a value raises that is not what is stored there, when it is read."""


async def read_stopped(
    path: str | os.PathLike[str], clock: Clock, read: Callable[[sqlite3.Connection], T]
) -> T:
    """What `read` returns of the store in a file, called with a connection that cannot write.

    No process can own the store meanwhile. Nothing in it is changed, no epoch is raised, and no
    file is made where there was no store; beside one, the lock file is.

    Raises StoreInUse where a process owns it; StoreMissing, StoreUnreadable, StoreReadOnly,
    ForeignStore, StoreTooNew; StoreError for what has no name. The loop stands still meanwhile.
    """
    if os.fspath(path) == ":memory:":
        raise StoreMissing(":memory:", "what is in memory ends with its process", _REMEDY)
    file = opening.resolve(os.fspath(path))
    try:
        _check_place(file)
        if not file.with_name(file.name + ".lock").exists():
            _through(file, _nothing)  # what is no store gets no lock file
        lock = await LockFile.acquire(file, clock, wait=0)
        try:
            return _through(file, read)
        finally:
            lock.release()
    except sqlite3.Error as error:
        raise StoreError(str(file), alarm_of(error).what) from error
    except OSError as error:
        why, remedy = f"it cannot be read: {error.strerror}", "see that this user may go there"
        raise StoreError(str(file), why, remedy) from error


_REMEDY = "give the path of the file that a Runtime was opened with"


def _check_place(file: Path) -> None:
    """Raise unless there is a file in which a runtime has been."""
    opening.check_place(file, allow_network_fs=True)  # reading spoils nothing there
    opening.check_links(file)
    size = opening.size_of(file)
    if size is None:
        raise StoreMissing(str(file), "there is no such file", _REMEDY)
    if size == 0:
        raise StoreUnreadable(str(file), "the file is empty: no runtime has used it yet", _REMEDY)


def _through(file: Path, read: Callable[[sqlite3.Connection], T]) -> T:
    connection = sqlite3.connect(_uri_of(file), uri=True, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only = 1")
        if not opening.is_checked(connection, file):
            why = "its making was cut off, so there is nothing in it yet"
            raise StoreUnreadable(str(file), why, "open it with a Runtime once")
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            raise StoreUnreadable(str(file), "no runtime has used it yet", _REMEDY)
        connection.execute("BEGIN")
        return _read(file, connection, read)
    finally:
        connection.close()


def _read(file: Path, connection: sqlite3.Connection, read: Callable[[sqlite3.Connection], T]) -> T:
    """What `read` returns. Raises StoreUnreadable for a value in the file that it cannot take."""
    try:
        return read(connection)
    except EverstepError:
        raise
    except UNFIT as error:
        why, remedy = f"a row in it is damaged: {error}", "mend that row, or restore a backup"
        raise StoreUnreadable(str(file), why, remedy) from error
    except sqlite3.OperationalError as error:
        if hasattr(error, "sqlite_errorcode"):
            raise
        why, _, _ = str(error).partition(" with text")  # which is none that could be shown
        raise StoreUnreadable(str(file), f"a text in it is damaged: {why}") from error


def _uri_of(file: Path) -> str:
    """Of a file with all in it, one by which SQLite makes no files beside it."""
    beside = (file.with_name(file.name + suffix) for suffix in ("-wal", "-journal"))
    whole = not any(other.exists() for other in beside)
    return opening.uri_of(file, "ro") + ("&immutable=1" if whole else "")


def _nothing(connection: sqlite3.Connection) -> None:
    """To have checked is enough."""
