"""One process owns a file: the lock beside it, and the registry of this process.

The lock is a POSIX record lock on `FILE.lock`. The system lets go of it when its process ends,
however that happens, and also when the process closes *any* descriptor of the file. So a registry,
asked before the file is opened, keeps this process from opening it twice.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import stat
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..clock import Clock
from ..errors import StoreError, StoreInUse, StoreReadOnly

__all__ = ["LockFile"]

_LENGTH = 512
_NOTED = 16
"""How many epochs are kept noted; older ones have long been given back."""
"""Bytes of a lock file: always written whole and in place, which needs no space on the disk."""
_POLL = 0.1

Identity = tuple[int, int]
"""Device and inode: what a file is, by whatever path."""


@dataclass
class _Registry:
    """The files that this process owns. A forked child owns none."""

    pid: int = 0
    mutex: threading.Lock = field(default_factory=threading.Lock)
    owned: set[Identity] = field(default_factory=set[Identity])

    def here(self) -> _Registry:
        """This registry, emptied when the process is not the one that filled it."""
        if self.pid != os.getpid():
            self.pid = os.getpid()
            self.mutex = threading.Lock()
            self.owned = set()
        return self


# The lock belongs to the process, so what guards it does too.
_REGISTRY = _Registry()


class LockFile:
    """Ownership of a database file, from `acquire` to `release`."""

    def __init__(self, path: Path, descriptor: int, facts: dict[str, Any]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._facts = facts
        self._identities = {_identity(os.fstat(descriptor))}

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
        registry = _REGISTRY.here()
        with registry.mutex:
            if not registry.owned.isdisjoint(_identities(database, path)):
                raise StoreInUse(str(database), "another runtime of this process uses it")
            descriptor = _open(path)
            try:
                lock = cls._lock(database, path, descriptor, now)
            except BaseException:
                os.close(descriptor)
                raise
            registry.owned |= lock._identities
            return lock

    @classmethod
    def _lock(cls, database: Path, path: Path, descriptor: int, now: float) -> LockFile:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        with _REGISTRY.here().mutex:
            self._identities |= found
            _REGISTRY.owned |= found

    def holds(self, database: Path) -> bool:
        """Whether the file at this path still is the one that was adopted."""
        found = _identities(database)
        return bool(found) and found <= self._identities

    def release(self) -> None:
        """Own it no longer; the lock file stays. Only in the process that acquired it."""
        with _REGISTRY.here().mutex:
            _REGISTRY.owned -= self._identities
            os.close(self._descriptor)

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
