"""Rows that are only ever inserted, many at a time.

Until Python 3.12, sqlite3 looks for an adapter of every bytes and None that is bound, which costs
ten times what a number costs. It knows a bytearray, and an empty text can stand for NULL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from ..records import EventRow, SnapshotRow

__all__ = ["NULLABLE", "insert_events", "insert_snapshots"]

NULLABLE = "nullif(?, '')"
"""In a statement, a parameter for which an empty text stands for NULL."""

_EVENT = f"""
    INSERT INTO event ({", ".join(EventRow._fields)})
    VALUES (?, ?, ?, ?, {NULLABLE}, {NULLABLE})
"""
_SNAPSHOT = f"""
    INSERT INTO snapshot ({", ".join(SnapshotRow._fields)})
    VALUES (?, ?, ?, ?, ?, {NULLABLE})
"""


def insert_events(connection: sqlite3.Connection, events: Iterable[EventRow]) -> None:
    """Append to the log."""
    rows = [
        (task, seq, at, kind, step or "", bytearray(data) if data else "")
        for task, seq, at, kind, step, data in events
    ]
    connection.executemany(_EVENT, rows)


def insert_snapshots(connection: sqlite3.Connection, snapshots: Iterable[SnapshotRow]) -> None:
    """Keep snapshots that are the first of their number. Raises IntegrityError for another."""
    rows = [
        (task, seq, chapter, version, bytearray(state), bytearray(appends) if appends else "")
        for task, seq, chapter, version, state, appends in snapshots
    ]
    connection.executemany(_SNAPSHOT, rows)
