"""What a person wants to know of a store as a whole: few rows, whatever it holds.

These read whole tables where they must, so they are for a look now and then. Every version of the
schema can be read: what an older one lacks is None.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from ..records import Status, TreeRow

__all__ = [
    "Backlog",
    "Lane",
    "Mention",
    "Owner",
    "Planned",
    "Suspects",
    "backlog",
    "counts",
    "lanes",
    "newest",
    "owner",
    "schedules",
    "suspects",
    "tree",
]


class Owner(NamedTuple):
    """The process that opened the store last."""

    epoch: int
    """0 where none ever has."""
    pid: int
    host: str
    boot: str
    started_at: float


class Mention(NamedTuple):
    """A task, as a list of tasks mentions it."""

    id: str
    actor: str
    reason: str | None
    error: bytes | None
    crashes: int
    deaths: int
    updated_at: float


class Backlog(NamedTuple):
    """Of the queued tasks of a pool: how many could start now, and when the next one can."""

    due: int
    next_in: float | None
    """Seconds; None where no task waits for a time."""


class Suspects(NamedTuple):
    """Queued tasks with so many deaths that they are tried a few at a time."""

    total: int
    newest: list[Mention]


class Lane(NamedTuple):
    """How many tasks of one lane of a pool wait and run."""

    name: str
    queued: int
    running: int


class Planned(NamedTuple):
    """A schedule, as a list of schedules mentions it."""

    name: str
    cron: str | None
    every: int | None
    tz: str
    actor: str
    paused: int
    next_at: float | None
    fired: int
    skipped: int
    missed: int


_MENTION = ", ".join(Mention._fields)


def owner(connection: sqlite3.Connection) -> Owner:
    """Who opened the store last."""
    fields = ", ".join(Owner._fields)
    return Owner._make(connection.execute(f"SELECT {fields} FROM node").fetchone())


def _has(connection: sqlite3.Connection, table: str) -> bool:
    known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(known, (table,)).fetchone() is not None


def schedules(connection: sqlite3.Connection, limit: int) -> list[Planned] | None:
    """The schedules that are due next, paused ones last; None where the store knows none yet."""
    if not _has(connection, "schedule"):
        return None
    rows = connection.execute(
        f"""
        SELECT {", ".join(Planned._fields)} FROM schedule
        ORDER BY paused, next_at IS NULL, next_at, name LIMIT ?
        """,
        (limit,),
    )
    return [Planned._make(row) for row in rows]


def tree(connection: sqlite3.Connection) -> TreeRow | None:
    """The newest tree that the store was opened with."""
    if not _has(connection, "tree"):
        return None
    row = connection.execute("SELECT epoch, at, outline FROM tree").fetchone()
    return None if row is None else TreeRow._make(row)


def counts(connection: sqlite3.Connection) -> dict[str, dict[Status, int]]:
    """How many tasks each pool has in each status that occurs, pools by name."""
    found: dict[str, dict[Status, int]] = {}
    rows = connection.execute(
        "SELECT pool, status, count(*) FROM task GROUP BY pool, status ORDER BY pool"
    )
    for pool, status, count in rows:
        found.setdefault(pool, {})[Status(status)] = count
    return found


def backlog(
    connection: sqlite3.Connection, pool: str, now: float, since_boot: float | None
) -> Backlog:
    """What is due, measured as for those who claim it; suspects count like all others.

    `since_boot` is None where the machine has been booted since the store was last open.
    """
    left = """
        CASE
            WHEN due_at IS NULL THEN 0
            WHEN due_boot IS NOT NULL AND :since_boot IS NOT NULL THEN due_boot - :since_boot
            ELSE min(due_at - :now, coalesce(due_delay, due_at - :now))
        END
    """
    row = connection.execute(
        f"""
        SELECT count(*) FILTER (WHERE remaining <= 0), min(remaining) FILTER (WHERE remaining > 0)
        FROM (SELECT {left} AS remaining FROM task WHERE status = 'queued' AND pool = :pool)
        """,
        {"pool": pool, "now": now, "since_boot": since_boot},
    ).fetchone()
    return Backlog._make(row)


def newest(connection: sqlite3.Connection, pool: str, status: Status, limit: int) -> list[Mention]:
    """Tasks of this status, those that changed last first."""
    rows = connection.execute(
        f"""
        SELECT {_MENTION} FROM task WHERE pool = ? AND status = ?
        ORDER BY updated_at DESC, key DESC LIMIT ?
        """,
        (pool, status, limit),
    )
    return [Mention._make(row) for row in rows]


def suspects(connection: sqlite3.Connection, pool: str, suspects_from: int, limit: int) -> Suspects:
    """Queued tasks with at least so many deaths, those of the newest death first."""
    where = "status = 'queued' AND pool = ? AND deaths >= ?"
    (total,) = connection.execute(
        f"SELECT count(*) FROM task WHERE {where}", (pool, suspects_from)
    ).fetchone()
    rows = connection.execute(
        f"SELECT {_MENTION} FROM task WHERE {where} ORDER BY death_epoch DESC, key LIMIT ?",
        (pool, suspects_from, limit),
    )
    return Suspects(total, [Mention._make(row) for row in rows])


def lanes(connection: sqlite3.Connection, pool: str, limit: int) -> list[Lane]:
    """The lanes with most tasks that wait or run."""
    rows = connection.execute(
        """
        SELECT lane, count(*) FILTER (WHERE status = 'queued') AS queued,
               count(*) FILTER (WHERE status = 'running')
        FROM task
        WHERE pool = ? AND lane IS NOT NULL AND status IN ('queued', 'running')
        GROUP BY lane ORDER BY count(*) DESC, lane LIMIT ?
        """,
        (pool, limit),
    )
    return [Lane._make(row) for row in rows]
