"""Queued tasks in tables in memory, by the thousand."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from everstep.storage import NewTask, Progress, QueuePage
from everstep.storage.sqlite.lanes import lanes
from everstep.storage.sqlite.schema import migrate

Place = tuple[int, str | None]

_COLUMNS = NewTask._fields + Progress._fields
_INSERT = (
    f"INSERT INTO task ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{c}' for c in _COLUMNS)})"
)


class Queued:
    """Tables with queued tasks, and what a look at them costs."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        migrate(self.connection)
        self._keys = count(1)

    def add(self, *places: Place, **other: Any) -> None:
        """Queue one task at each place, in this order."""
        row = Progress.beginning(1.0)._asdict() | {"actor": "A", "pool": "tasks", "given": "g"}
        row |= {"seed": b"", "created_at": 1.0, "parent": None, "on_parent": None, **other}
        made = (row | {"key": key, "id": str(key)} for key in self._keys)
        rows = (one | {"priority": p, "lane": n} for (p, n), one in zip(places, made, strict=False))
        self.connection.execute("BEGIN")
        self.connection.executemany(_INSERT, rows)
        self.connection.execute("COMMIT")

    def page(
        self,
        *,
        below: int | None = None,
        turns: Mapping[int, str | None] | None = None,
        limit: int = 10,
        deep: int = 3,
    ) -> QueuePage:
        return lanes(self.connection, "tasks", below, turns or {}, limit, deep)

    def take(self, priority: int, lane: str | None) -> None:
        """Let the oldest task of a queue begin, and end."""
        self.connection.execute(
            """
            UPDATE task SET status = 'succeeded' WHERE key = (
                SELECT min(key) FROM task
                WHERE status = 'queued' AND priority = ? AND lane IS ?
            )
            """,
            (priority, lane),
        )

    def cost(self, look: Callable[[], object]) -> int:
        """How many instructions of SQLite's machine it takes, in thousands."""
        ticks = 0

        def tick() -> None:
            nonlocal ticks
            ticks += 1

        self.connection.set_progress_handler(tick, 1000)
        look()
        self.connection.set_progress_handler(None, 0)
        return ticks
