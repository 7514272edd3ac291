"""How much is queued that somebody here may not know."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from .fragments import listed

__all__ = ["queues", "strangers"]


def strangers(connection: sqlite3.Connection, pool: str, actors: Collection[str]) -> dict[str, int]:
    """How many queued tasks there are of each actor that is none of these."""
    found = connection.execute(
        """
        SELECT actor, count(*) FROM task
        WHERE status = 'queued' AND pool = ?
          AND actor NOT IN (SELECT value FROM json_each(?))
        GROUP BY actor
        """,
        (pool, listed(actors)),
    )
    return dict(found.fetchall())


def queues(connection: sqlite3.Connection) -> dict[str, int]:
    """How many queued tasks there are in each pool that has any."""
    found = connection.execute(
        "SELECT pool, count(*) FROM task WHERE status = 'queued' GROUP BY pool"
    )
    return dict(found.fetchall())
