"""New tasks that others start, or that are started many at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ..records import ChildRow, NewTask, Progress
from .fragments import insert
from .inserts import insert_events, insert_snapshots

__all__ = ["create"]

_INSERT_TASK = insert("task", NewTask._fields + Progress._fields)


def create(connection: sqlite3.Connection, tasks: Sequence[ChildRow]) -> None:
    """Create tasks. Raises IntegrityError where one of their ids exists."""
    connection.executemany(_INSERT_TASK, [task.new + task.progress for task in tasks])
    insert_snapshots(connection, [task.first for task in tasks])
    insert_events(connection, [task.event for task in tasks])
