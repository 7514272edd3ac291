"""A batch of writes, in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import LostLease, Refused
from .diagnosis import diagnose
from .statements import FenceError, Write, write
from .transaction import transaction

__all__ = [
    "Batch",
    "Node",
    "read_node",
    "write_batch",
    "write_unless_committed",
    "write_unless_synced",
]

# A write with one of these is the fault of the write, whatever the state of the disk.
_GUILTY = (FenceError, sqlite3.IntegrityError)
_UNWRITABLE = (
    sqlite3.DataError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    OverflowError,
    TypeError,
    ValueError,
)


class Node(NamedTuple):
    """Who owns the store, and the newest batch it has committed."""

    epoch: int
    batch: int


@dataclass(slots=True)
class Batch:
    """Writes that are committed together, under a number that tells whether they were."""

    epoch: int
    number: int
    writes: Sequence[Write]
    refusals: list[Refused | None] = field(default_factory=list[Refused | None])
    """One for each write; complete before the transaction commits."""


def read_node(connection: sqlite3.Connection) -> Node:
    """The node's row, as committed."""
    return Node._make(connection.execute("SELECT epoch, batch FROM node").fetchone())


def write_batch(connection: sqlite3.Connection, batch: Batch) -> None:
    """Write a batch in one transaction, and fill in its refusals.

    The writes are first written together; if anything of that is refused, all is undone and they
    are written one by one, so that only the guilty are refused. Any error but a refusal leaves
    nothing of the batch behind, unless it came from the commit itself: then that is unknown.
    """
    try:
        with transaction(connection):
            if _owns(connection, batch):
                write(connection, batch.writes)
                batch.refusals = [None] * len(batch.writes)
    except (*_GUILTY, *_UNWRITABLE):
        with transaction(connection):
            if _owns(connection, batch):
                batch.refusals = [_alone(connection, one, batch.epoch) for one in batch.writes]


def write_unless_committed(connection: sqlite3.Connection, batch: Batch) -> None:
    """Finish a batch of which nobody heard whether it was committed, on a connection opened anew.

    The number in the node's row tells.
    """
    if read_node(connection) != (batch.epoch, batch.number):
        write_batch(connection, batch)


def write_unless_synced(connection: sqlite3.Connection, batch: Batch) -> None:
    """Finish a batch whose commit failed, on a connection opened anew.

    A commit that failed may have happened all the same, and be on no disk yet: so it is moved into
    the main file, which syncs it.
    """
    if read_node(connection) != (batch.epoch, batch.number):
        write_batch(connection, batch)
        return
    _, pages, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if moved < pages:
        raise sqlite3.OperationalError("the newest commit could not be put on disk yet")


def _owns(connection: sqlite3.Connection, batch: Batch) -> bool:
    """The fence of the whole batch. All of it is refused unless this process owns the store."""
    numbered = connection.execute(
        "UPDATE node SET batch = ? WHERE epoch = ?", (batch.number, batch.epoch)
    )
    owns = numbered.rowcount == 1
    if not owns:
        batch.refusals = _lost(batch)
    return owns


def _lost(batch: Batch) -> list[Refused | None]:
    """The refusals of a batch whose process no longer owns the store."""
    return [LostLease(one.task_id, f"this was epoch {batch.epoch}") for one in batch.writes]


def _alone(connection: sqlite3.Connection, one: Write, epoch: int) -> Refused | None:
    """Write one, or undo it and return why it was refused."""
    connection.execute("SAVEPOINT one")
    try:
        write(connection, [one])
    except _GUILTY as cause:
        _undo(connection)
        return diagnose(connection, one, epoch, cause)
    except _UNWRITABLE as cause:
        _undo(connection)
        return Refused(one.task_id, f"it cannot be written: {cause!r}")
    connection.execute("RELEASE one")
    return None


def _undo(connection: sqlite3.Connection) -> None:
    connection.execute("ROLLBACK TO one")
    connection.execute("RELEASE one")
