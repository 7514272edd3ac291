"""The log: of one task by its numbers, and of all tasks in the one order of their commits.

A position is the row number that SQLite gives when a row is inserted: one more than the highest.
One writer inserts, a transaction at a time, so whatever is committed later has a higher position
than all that can be seen now: a reader that goes on from the last position it saw misses nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from ..interface import LogPage, RecordedEvent
from ..records import EventRow
from .fragments import listed
from .transaction import reading

__all__ = ["events", "log", "page"]

_COLUMNS = "event.position, task.id, " + ", ".join(f"event.{name}" for name in EventRow._fields)

_LOOKED_THROUGH = 2000
"""Events among which a page looks for those that are wanted."""

_UPTO = """
    SELECT max(position) FROM (
        SELECT position FROM event WHERE position > :after ORDER BY position LIMIT :span
    )
"""

# A cross join is one whose order SQLite keeps: the log is never looked up task by task.
_LOG = f"""
    SELECT {_COLUMNS} FROM event CROSS JOIN task ON task.key = event.task
    WHERE event.position > :after AND event.position <= :upto
      AND (:kinds = '[]' OR event.kind IN (SELECT value FROM json_each(:kinds)))
      AND (:actors = '[]' OR task.actor IN (SELECT value FROM json_each(:actors)))
      AND (:pool IS NULL OR task.pool = :pool)
    ORDER BY event.position LIMIT :limit
"""


def events(connection: sqlite3.Connection, key: int, after: int, limit: int) -> list[RecordedEvent]:
    """Events of one task after a number, in order."""
    rows = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM event JOIN task ON task.key = event.task
        WHERE event.task = ? AND event.seq > ? ORDER BY event.seq LIMIT ?
        """,
        (key, after, limit),
    )
    return _recorded(rows)


def log(
    connection: sqlite3.Connection,
    after: int,
    limit: int,
    kinds: Collection[str],
    actors: Collection[str],
    pool: str | None,
) -> LogPage:
    """`page`, in a transaction of its own."""
    with reading(connection):
        return page(connection, after, limit, kinds, actors, pool)


def page(
    connection: sqlite3.Connection,
    after: int,
    limit: int,
    kinds: Collection[str],
    actors: Collection[str],
    pool: str | None,
) -> LogPage:
    """Events of all tasks after a position; how many are looked through is bounded too."""
    span = _LOOKED_THROUGH if kinds or actors or pool is not None else limit
    (upto,) = connection.execute(_UPTO, {"after": after, "span": span}).fetchone()
    if upto is None:
        return LogPage([], after)
    wanted = {
        "after": after,
        "upto": upto,
        "kinds": listed(kinds),
        "actors": listed(actors),
        "pool": pool,
        "limit": limit,
    }
    found = _recorded(connection.execute(_LOG, wanted))
    return LogPage(found, found[-1].position if len(found) == limit else upto)


def _recorded(rows: sqlite3.Cursor) -> list[RecordedEvent]:
    return [RecordedEvent(row[0], row[1], EventRow(*row[2:])) for row in rows]
