"""One process owns a file: the lock beside it, and the registry of this process.

The lock is an open file description lock of Linux on `FILE.lock`, elsewhere one of `flock`. The
system lets go of it when the last copy of its descriptor is closed, so at the latest when the
process ends: programs that it runs close theirs at `exec`, and forked children at once. On Linux
it excludes the POSIX locks that older versions took, and they it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import stat
import struct
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..clock import Clock
from ..errors import StoreError, StoreInUse, StoreReadOnly

__all__ = ["LockFile"]

_LENGTH = 512
"""Bytes of a lock file: always written whole and in place, which needs no space on the disk."""
_NOTED = 16
"""How many epochs are kept noted; older ones have long been given back."""
_POLL = 0.1

Identity = tuple[int, int]
"""Device and inode: what a file is, by whatever path."""


class _Registry:
    """The locks that this process holds, which none of its forked children does."""

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self.held: set[LockFile] = set()
        self._watches_forks = False

    def owns(self, identities: set[Identity]) -> bool:
        return any(not lock.identities.isdisjoint(identities) for lock in self.held)

    def watch_forks(self) -> None:
        """From now on no process is forked while a lock is half taken, and no child has one."""
        if not self._watches_forks:
            self._watches_forks = True
            os.register_at_fork(
                before=self.mutex.acquire,
                after_in_parent=self.mutex.release,
                after_in_child=self._begin_in_child,
            )

    def _begin_in_child(self) -> None:
        held, self.held = self.held, set()
        for lock in held:
            lock.forget()
        self.mutex.release()


# The file belongs to the process, so what guards it does too.
_REGISTRY = _Registry()


class LockFile:
    """Ownership of a database file, from `acquire` to `release`."""

    def __init__(self, path: Path, descriptor: int, facts: dict[str, Any]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._facts = facts
        self.identities = {_identity(os.fstat(descriptor))}

    @classmethod
    async def acquire(cls, database: Path, clock: Clock, wait: float) -> LockFile:
        """Own `database`, a resolved path, at the latest after `wait` seconds.

        Raises StoreInUse; StoreReadOnly and StoreError when there can be no lock file. Cancelling
        leaves nothing behind.
        """
        until = clock.monotonic() + wait
        while True:
            try:
                return cls._try(database, clock.now())
            except StoreInUse:
                left = until - clock.monotonic()
                if left <= 0:
                    raise
                await clock.sleep(min(_POLL, left))

    @classmethod
    def _try(cls, database: Path, now: float) -> LockFile:
        path = database.with_name(database.name + ".lock")
        with _REGISTRY.mutex:
            _REGISTRY.watch_forks()
            if _REGISTRY.owns(_identities(database, path)):
                raise StoreInUse(str(database), "another runtime of this process uses it")
            descriptor = _open(path)
            try:
                lock = cls._lock(database, path, descriptor, now)
            except BaseException:
                os.close(descriptor)
                raise
            _REGISTRY.held.add(lock)
            return lock

    @classmethod
    def _lock(cls, database: Path, path: Path, descriptor: int, now: float) -> LockFile:
        try:
            _set_lock(descriptor, held=True)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise StoreError(str(path), f"it cannot be locked: {error}") from error
            raise StoreInUse(str(database), _owner(_read(descriptor))) from None
        if _identities(path) != {_identity(os.fstat(descriptor))}:
            raise StoreInUse(str(database), "its lock file was removed a moment ago")
        lock = cls(path, descriptor, _read(descriptor))
        lock._write(pid=os.getpid(), host=socket.gethostname(), started_at=now)
        return lock

    @property
    def orderly_epochs(self) -> frozenset[int]:
        """The newest epochs that were noted as ones that stopped in order."""
        noted: Any = self._facts.get("orderly_epochs", ())
        try:
            return frozenset(map(int, noted))
        except (TypeError, ValueError):  # somebody else has written there
            return frozenset()

    def note_orderly(self, epoch: int) -> None:
        """Note that this epoch stops in order, though its store cannot write that down.

        Epochs before it that could not be given back stay noted. The bytes are overwritten in
        place, so that it works on a full disk. Errors are left aside: then the tasks of the epoch
        count as having died.
        """
        try:
            epochs = sorted({*self.orderly_epochs, epoch})
            self._write(orderly_epochs=epochs[-_NOTED:])
            os.fsync(self._descriptor)
        except (OSError, StoreError):
            pass

    def adopt(self, database: Path) -> None:
        """Own the database under its own identity too, now that it exists."""
        found = _identities(database)
        with _REGISTRY.mutex:
            self.identities |= found

    def holds(self, database: Path) -> bool:
        """Whether the file at this path still is the one that was adopted."""
        found = _identities(database)
        return bool(found) and found <= self.identities

    def release(self) -> None:
        """Own it no longer; the lock file stays. Only in the process that acquired it."""
        with _REGISTRY.mutex:
            _REGISTRY.held.discard(self)
            _set_lock(self._descriptor, held=False)  # a child may not have come to its exec yet
            os.close(self._descriptor)

    def forget(self) -> None:
        """Close this child's copy of the descriptor, or it would keep the file for its parent."""
        with contextlib.suppress(OSError):  # somebody has closed it already
            os.close(self._descriptor)
        self._descriptor = -1

    def _write(self, **facts: Any) -> None:
        self._facts |= facts
        text = json.dumps(self._facts).encode().ljust(_LENGTH - 1) + b"\n"
        try:
            os.pwrite(self._descriptor, text, 0)
        except OSError as error:
            raise StoreError(str(self._path), f"it cannot be written: {error}") from error


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except PermissionError as error:
        raise StoreReadOnly(str(path), f"it cannot be opened for writing: {error}") from error
    except OSError as error:
        kind = StoreReadOnly if error.errno == errno.EROFS else StoreError
        raise kind(str(path), f"it cannot be opened: {error}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(str(path), "it is no ordinary file", "remove it")
    return descriptor


def _set_lock(descriptor: int, *, held: bool) -> None:
    """Lock the file, or let go of it, for all who have a copy of this descriptor. Never waits."""
    if sys.platform == "linux":
        kind = fcntl.F_WRLCK if held else fcntl.F_UNLCK
        whole = struct.pack("hhqqi0q", kind, os.SEEK_SET, 0, 0, 0)  # a struct flock
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, whole)
    else:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if held else fcntl.LOCK_UN) | fcntl.LOCK_NB)


def _read(descriptor: int) -> dict[str, Any]:
    """What the lock file says; nothing when it was never written whole."""
    try:
        return dict(json.loads(os.pread(descriptor, _LENGTH, 0)))
    except (TypeError, ValueError):
        return {}


def _owner(facts: dict[str, Any]) -> str:
    """Who owns the file, for a person."""
    try:
        since = datetime.fromtimestamp(facts["started_at"], UTC).isoformat(" ", "seconds")
        return f"process {facts['pid']} on {facts['host']} has used it since {since}"
    except (KeyError, TypeError, ValueError):
        return "another process uses it"


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _identities(*paths: Path) -> set[Identity]:
    """Of those paths at which there is something."""
    found: set[Identity] = set()
    for path in paths:
        try:
            found.add(_identity(path.stat()))
        except OSError:
            continue
    return found
