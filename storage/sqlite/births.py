"""New tasks that others start, or that are started many at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ..records import ChildRow, EventRow, NewTask, Progress, SnapshotRow
from .fragments import insert

__all__ = ["create"]

_INSERT_TASK = insert("task", NewTask._fields + Progress._fields)
_INSERT_SNAPSHOT = insert("snapshot", SnapshotRow._fields)
_INSERT_EVENT = insert("event", EventRow._fields)


def create(connection: sqlite3.Connection, tasks: Sequence[ChildRow]) -> None:
    """Create tasks. Raises IntegrityError where one of their ids exists."""
    connection.executemany(_INSERT_TASK, [task.new + task.progress for task in tasks])
    connection.executemany(_INSERT_SNAPSHOT, [task.first for task in tasks])
    connection.executemany(_INSERT_EVENT, [task.event for task in tasks])
