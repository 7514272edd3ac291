"""Many tasks in a file in little time: rows that everstep wrote, copied by SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

__all__ = ["multiply"]


def multiply(file: Path, rows: int, tables: Collection[str] = ("task", "step", "event")) -> None:
    """Copy the one task of a file, and what these tables hold of it, so that there are so many.

    Each copy has an instant of its own at which it is due. The file must not be open.
    """
    numbers = "WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :rows) "
    changed = {
        "key": "t.key + n.n",
        "id": "t.id || n.n",
        "due_boot": "t.due_boot + abs(random() % 1000000)",
        "task": "t.task + n.n",
        "position": "NULL",
    }
    with closing(sqlite3.connect(file)) as connection:
        for table in tables:
            names = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
            chosen = [changed.get(name, f"t.{name}") for name in names]
            connection.execute(
                f"{numbers} INSERT INTO {table} ({', '.join(names)}) "
                f"SELECT {', '.join(chosen)} FROM n CROSS JOIN {table} AS t",
                {"rows": rows - 1},
            )
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
