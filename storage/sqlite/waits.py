"""The reads of tasks that wait as rows: each is one look into an index, however many there are."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from ..records import StepRow, TaskRow
from .fragments import listed
from .queries import TASK_COLUMNS, step_row, task_rows

__all__ = ["due_waits", "next_wait", "open_waits"]

_STEP = ", ".join(f"step.{field}" for field in StepRow._fields)

# Each of the two is the condition of an index. An instant that is kept in seconds since boot is
# measured by those, any other by the wall clock.
_BY_BOOT = """
    status = 'waiting' AND epoch IS NULL AND pool = :pool AND due_boot IS NOT NULL
"""
_BY_WALL = """
    status = 'waiting' AND epoch IS NULL AND pool = :pool
    AND due_boot IS NULL AND due_at IS NOT NULL
"""


def due_waits(
    connection: sqlite3.Connection, pool: str, now: float, since_boot: float | None, limit: int
) -> list[TaskRow]:
    """Tasks out of memory whose first wait is due, the earliest of each clock first."""
    return task_rows(
        connection.execute(
            f"""
            SELECT * FROM (
                SELECT {TASK_COLUMNS} FROM task WHERE {_BY_BOOT} AND due_boot <= :since_boot
                ORDER BY due_boot LIMIT :limit
            )
            UNION ALL
            SELECT * FROM (
                SELECT {TASK_COLUMNS} FROM task WHERE {_BY_WALL} AND due_at <= :now
                ORDER BY due_at LIMIT :limit
            )
            LIMIT :limit
            """,
            {"pool": pool, "now": now, "since_boot": since_boot, "limit": limit},
        )
    )


def next_wait(
    connection: sqlite3.Connection, pool: str, now: float, since_boot: float | None
) -> float | None:
    """Seconds until the first wait of a task out of memory falls due; 0 where one is."""
    row: tuple[float | None] = connection.execute(
        f"""
        SELECT min(left) FROM (
            SELECT * FROM (
                SELECT max(due_boot - :since_boot, 0) AS left FROM task WHERE {_BY_BOOT}
                ORDER BY due_boot LIMIT 1
            )
            UNION ALL
            SELECT * FROM (
                SELECT min(max(due_at - :now, 0), due_delay) AS left FROM task WHERE {_BY_WALL}
                ORDER BY due_at LIMIT 1
            )
        )
        """,
        {"pool": pool, "now": now, "since_boot": since_boot},
    ).fetchone()
    return row[0]


def open_waits(connection: sqlite3.Connection, keys: Collection[int]) -> list[StepRow]:
    """Rows without an outcome, in the present chapter, that fall due or hold a question."""
    rows = connection.execute(
        f"""
        SELECT {_STEP} FROM step JOIN task ON task.key = step.task
        WHERE step.task IN (SELECT value FROM json_each(?)) AND step.chapter = task.chapter
          AND step.outcome IS NULL AND (step.due_at IS NOT NULL OR step.output IS NOT NULL)
        ORDER BY step.task, step.position
        """,
        (listed(keys),),
    )
    return [step_row(row) for row in rows]
