"""Schedules: how they are written, and who is due."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from ..records import ENDED
from ..schedules import ScheduleChange, ScheduleRow
from .fragments import insert, listed, quoted

__all__ = ["change", "due", "next_due", "schedule", "schedules", "unended"]

_FIELDS = ", ".join(ScheduleRow._fields)

_INSERT = f"""
    {insert("schedule", ScheduleRow._fields)}
    ON CONFLICT (name) DO NOTHING
"""
_UPDATE = f"""
    UPDATE schedule SET {", ".join(f"{field} = ?" for field in ScheduleRow._fields)}
    WHERE name = ? AND revision = ?
"""
_DELETE = "DELETE FROM schedule WHERE name = ? AND revision = ?"
_UNENDED = f"""
    SELECT key, id FROM task
    WHERE key IN (SELECT value FROM json_each(?)) AND status NOT IN ({quoted(ENDED)})
    ORDER BY key
"""


def change(connection: sqlite3.Connection, change: ScheduleChange) -> bool:
    """Write, change or delete a schedule; False where it is not the one that was meant."""
    if change.before is None:
        done = connection.execute(_INSERT, change.after or ())
    elif change.after is None:
        done = connection.execute(_DELETE, (change.name, change.before))
    else:
        done = connection.execute(_UPDATE, (*change.after, change.name, change.before))
    return done.rowcount == 1


def schedule(connection: sqlite3.Connection, name: str) -> ScheduleRow | None:
    """The schedule of this name."""
    row = connection.execute(f"SELECT {_FIELDS} FROM schedule WHERE name = ?", (name,)).fetchone()
    return None if row is None else ScheduleRow._make(row)


def schedules(connection: sqlite3.Connection, after: str, limit: int) -> list[ScheduleRow]:
    """Schedules by name, those after a name."""
    rows = connection.execute(
        f"SELECT {_FIELDS} FROM schedule WHERE name > ? ORDER BY name LIMIT ?", (after, limit)
    )
    return [ScheduleRow._make(row) for row in rows]


def due(connection: sqlite3.Connection, now: float) -> list[str]:
    """Names of schedules that have an instant up to `now`, the earliest first, or one that waits.

    Each of the two is a look into an index, whatever else the store holds.
    """
    rows = connection.execute(
        """
        SELECT * FROM (
            SELECT name, next_at FROM schedule WHERE paused = 0 AND next_at <= ? ORDER BY next_at
        )
        UNION ALL
        SELECT name, NULL FROM schedule WHERE paused = 0 AND waiting IS NOT NULL
        """,
        (now,),
    )
    return list(dict.fromkeys(name for name, _ in rows))


def next_due(connection: sqlite3.Connection, after: float) -> float | None:
    """The first instant after this one of all schedules that are not paused."""
    row = connection.execute(
        """
        SELECT next_at FROM schedule WHERE paused = 0 AND next_at > ? ORDER BY next_at LIMIT 1
        """,
        (after,),
    ).fetchone()
    return None if row is None else row[0]


def unended(connection: sqlite3.Connection, keys: Collection[int]) -> dict[int, str]:
    """Those of these tasks that have not ended: their keys and ids, the oldest first."""
    return dict(connection.execute(_UNENDED, (listed(keys),)).fetchall())
