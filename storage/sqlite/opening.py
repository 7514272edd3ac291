"""What is checked before a file is used as a store, each problem with its own error.

Everything is read through SQLite or asked of the file system by path: opening the database with
anything else would drop the locks that SQLite holds on it. Nothing here writes to the main file.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from pathlib import Path
from urllib.parse import quote

from ..errors import (
    ForeignStore,
    NetworkFilesystem,
    StoreError,
    StoreMissing,
    StoreReadOnly,
    StoreTooNew,
    StoreUnreadable,
)
from .schema import APPLICATION_ID, VERSION
from .trouble import is_of_disk

__all__ = [
    "check_contents",
    "check_links",
    "check_place",
    "is_checked",
    "judge",
    "network_filesystem",
    "resolve",
    "set_pragmas",
    "size_of",
    "uri_of",
]

# fmt: off
_NETWORK = frozenset({
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.cephfs",
    "fuse.davfs2", "fuse.glusterfs", "fuse.gcsfuse", "fuse.juicefs", "fuse.mfs", "fuse.nfs",
    "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "gfs", "gfs2", "glusterfs", "gpfs", "lustre",
    "moosefs", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2", "smb2",
    "smb3", "smbfs", "vboxsf",
})
# fmt: on

_SMALLEST = 512
"""Bytes of the smallest database there is."""

_FIRST_TRANSACTION = 4096
"""Bytes of the file after the first transaction of its making."""

_CHECKED_WHOLE = 16 * 1024 * 1024
"""Up to so many bytes all of a file is looked at when it is opened."""

_FIELDS = re.compile(r"^\S+ \S+ \S+ \S+ (?P<point>\S+) .* - (?P<kind>\S+) ")


def resolve(path: str) -> Path:
    """The real path of a database: symbolic links are followed, whether or not it exists."""
    return Path(os.path.realpath(path))


def uri_of(path: Path, mode: str) -> str:
    """The URI under which SQLite opens a path."""
    return f"file:{quote(os.fsencode(path))}?mode={mode}"


def check_place(path: Path, allow_network_fs: bool) -> None:
    """Check what can be known without opening the file.

    Raises StoreMissing, StoreReadOnly, StoreUnreadable, NetworkFilesystem.
    """
    folder, mode = path.parent, _mode_of(path)
    if mode is None and not folder.is_dir():
        raise StoreMissing(str(path), f"there is no directory {folder}")
    if mode is not None and stat.S_ISDIR(mode):
        raise StoreUnreadable(str(path), "it is a directory", "give the path of a file in it")
    if mode is not None and not stat.S_ISREG(mode):
        why = "it is a device, a pipe or a socket"
        raise StoreUnreadable(str(path), why, "give the path of an ordinary file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreReadOnly(str(path), f"the directory {folder} is read-only for this user")
    if mode is not None and not os.access(path, os.R_OK | os.W_OK):
        raise StoreReadOnly(str(path), "the file is read-only for this user")
    kind = None if allow_network_fs else network_filesystem(_mounts(), str(path))
    if kind is not None:
        raise NetworkFilesystem(str(path), f"it lies on {kind}, a network file system")


def _mode_of(path: Path) -> int | None:
    """What is at a path, as `stat` tells it; None for nothing. Raises StoreUnreadable."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why, remedy = f"it cannot be looked at: {error.strerror}", "give another path"
        if isinstance(error, PermissionError):
            remedy = "see that this user may go there"
        raise StoreUnreadable(str(path), why, remedy) from error


def check_links(path: Path) -> None:
    """Refuse a file with a second name: SQLite keeps its journal beside the name it opens."""
    names = path.stat().st_nlink if path.exists() else 1
    if names > 1:
        raise StoreError(
            str(path),
            f"the file has {names} names (hard links), which SQLite cannot use safely",
            "remove the other names, or copy the file and open the copy",
        )


def network_filesystem(mounts: str, path: str) -> str | None:
    """The kind of the network file system that holds a path, or None if it is a local one.

    `mounts` is the text of /proc/self/mountinfo, `path` is absolute and resolved.
    """
    best, kind = "", None
    for line in mounts.splitlines():
        found = _FIELDS.match(line)
        if found is None:
            continue
        point = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), found["point"])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, found["kind"]
    return kind if kind in _NETWORK else None


def _mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def size_of(path: Path) -> int | None:
    """Bytes of the main file, or None when there is none.

    Raises StoreUnreadable for a file that SQLite would take for an empty one, and overwrite.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return None
    if 0 < size < _SMALLEST:
        raise StoreUnreadable(str(path), f"the file is no database: it has {size} bytes")
    return size


def _is_half_made(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the making of this file was cut off before its first transaction was through.

    Only opening it for writing undoes that transaction. A larger file is none of ours: our later
    transactions are in the write-ahead log. Raises StoreUnreadable for such a one.
    """
    try:
        connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
            return False
        if path.stat().st_size > _FIRST_TRANSACTION:
            raise StoreUnreadable(
                str(path),
                f"another program has left a transaction unfinished, in {path}-journal",
                "open it with that program first, or give another path",
            ) from error
        return True
    except sqlite3.Error:
        return False
    return False


def is_checked(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the contents of an existing file were checked: not where it is half made."""
    if _is_half_made(connection, path):
        return False
    check_contents(connection, path)
    return True


_UNREAD = re.compile(r"error code=(?!11\b|26\b)\d+|failed to get page|\*\*\*\s*$")
"""In the answer of a check: it could not read or remember a page, which may be whole."""


def check_contents(connection: sqlite3.Connection, path: Path) -> None:
    """Check an existing file through a connection that does not write.

    Raises StoreUnreadable, ForeignStore, StoreTooNew; StoreError where memory is short, and the
    error of SQLite where the disk fails: neither says anything of the file.
    """
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
        _check_owner(path, application, version, tables)
        _check_whole(connection, path)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter of a name in the schema
        if is_of_disk(error):
            raise
        raise StoreUnreadable(
            str(path), f"it is no database, or a damaged one ({error})"
        ) from error


def _check_owner(path: Path, application: int, version: int, tables: list[str]) -> None:
    if application != APPLICATION_ID and (application or tables or version):
        holds = f"it holds {', '.join(sorted(tables)[:5])}" if tables else "it is marked as theirs"
        raise ForeignStore(str(path), f"the database belongs to another program ({holds})")
    if version > VERSION:
        raise StoreTooNew(
            str(path), f"it has schema version {version}, this everstep knows up to {VERSION}"
        )


def _check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Look at the size of the file and the first page of each table; at all of a small file."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    size, journal = path.stat().st_size, path.with_name(path.name + "-wal")
    all_in_main = not journal.exists() or journal.stat().st_size == 0
    if all_in_main and size < pages * page_size:
        raise StoreUnreadable(
            str(path), f"it is cut short: {size} bytes are left of {pages * page_size}"
        )
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
        connection.execute(f'SELECT 1 FROM "{table}" LIMIT 1').fetchone()
    if size <= _CHECKED_WHOLE:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        judge(path, found)


def judge(path: Path, found: str) -> None:
    """Raise for what a check of the whole file has answered, if that is not "ok"."""
    if _UNREAD.search(found):
        why = f"it could not be checked: {found}"
        raise StoreError(str(path), why, "free memory, look at the disk, and try again")
    if found != "ok":
        raise StoreUnreadable(str(path), f"it is damaged: {found}")


_PRAGMAS: dict[str, tuple[str | int, object]] = {
    # name: (what is set, what is then read)
    "busy_timeout": (5000, 5000),
    "temp_store": ("memory", 2),
    "journal_mode": ("wal", "wal"),
    "journal_size_limit": (64 * 1024 * 1024, 64 * 1024 * 1024),
    "wal_autocheckpoint": (1000, 1000),
}

_SYNCHRONOUS = {"full": 2, "normal": 1}


def set_pragmas(connection: sqlite3.Connection, durability: str) -> None:
    """Set the writer's pragmas and read them back; OperationalError where one does not hold."""
    wanted = dict(_PRAGMAS)
    wanted["synchronous"] = (durability, _SYNCHRONOUS[durability])
    for name, (value, expected) in wanted.items():
        connection.execute(f"PRAGMA {name} = {value}")
        (found,) = connection.execute(f"PRAGMA {name}").fetchone()
        if found != expected:
            raise sqlite3.OperationalError(f"PRAGMA {name} is {found!r}, not {expected!r}")
