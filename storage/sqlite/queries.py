"""The reads, each one function of a connection that returns typed records."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from ..interface import Share
from ..records import (
    EffectRow,
    EffectState,
    NewTask,
    Outcome,
    Progress,
    RunRow,
    SnapshotRow,
    Status,
    StepRow,
    TaskRow,
)
from .fragments import listed
from .transaction import reading

__all__ = [
    "TASK_COLUMNS",
    "Head",
    "appends_page",
    "claimable",
    "effects",
    "head",
    "named",
    "next_due",
    "open_steps",
    "orphans",
    "step_row",
    "steps",
    "steps_page",
    "suspects",
    "task",
    "task_rows",
    "tasks",
]

_WRITTEN_ONCE = len(NewTask._fields)
TASK_COLUMNS = ", ".join(NewTask._fields + Progress._fields)
_STEP = ", ".join(StepRow._fields)
_RUN = ", ".join(RunRow._fields)
_SNAPSHOT = ", ".join(SnapshotRow._fields)
_EFFECT = ", ".join(EffectRow._fields)

_OUTCOME = StepRow._fields.index("outcome")
_STATE = EffectRow._fields.index("state")
_STATUSES: dict[str, Status] = {one.value: one for one in Status}
_OUTCOMES: dict[str | None, Outcome | None] = {None: None, **{one.value: one for one in Outcome}}


def _task_row(row: tuple[Any, ...]) -> TaskRow:
    status, *rest = row[_WRITTEN_ONCE:]
    progress = Progress._make((_STATUSES.get(status) or Status(status), *rest))
    return TaskRow._make((*row[:_WRITTEN_ONCE], progress))


def step_row(row: tuple[Any, ...]) -> StepRow:
    """A row with the columns of StepRow as a record."""
    columns = list(row)
    columns[_OUTCOME] = _OUTCOMES[columns[_OUTCOME]]
    return StepRow._make(columns)


def _effect_row(row: tuple[Any, ...]) -> EffectRow:
    return EffectRow._make((*row[:_STATE], EffectState(row[_STATE]), *row[_STATE + 1 :]))


def task_rows(rows: Iterable[tuple[Any, ...]]) -> list[TaskRow]:
    """Rows of TASK_COLUMNS as records."""
    return [_task_row(row) for row in rows]


def task(connection: sqlite3.Connection, task_id: str) -> TaskRow | None:
    """The task of this id."""
    row = connection.execute(f"SELECT {TASK_COLUMNS} FROM task WHERE id = ?", (task_id,)).fetchone()
    return None if row is None else _task_row(row)


def named(connection: sqlite3.Connection, ids: Collection[str]) -> list[TaskRow]:
    """The tasks that have these ids."""
    return task_rows(
        connection.execute(
            f"SELECT {TASK_COLUMNS} FROM task WHERE id IN (SELECT value FROM json_each(?))",
            (listed(ids),),
        )
    )


_STOPPED = frozenset({Status.CANCELLED, Status.FAILED, Status.PAUSED})
"""What the index `task_stopped` holds."""


def tasks(
    connection: sqlite3.Connection,
    statuses: Collection[Status],
    actors: Collection[str],
    pool: str | None,
    lane: str | None,
    parent: int | None,
    after: int,
    limit: int,
) -> list[TaskRow]:
    """Tasks after a key, by key; empty collections, and None, filter nothing.

    Children of a task, and tasks that have stopped, are found without going through all others.
    """
    if parent is None and statuses and _STOPPED.issuperset(statuses):
        wanted = [f"status = '{status}'" for status in sorted(set(statuses))]
    else:
        wanted = ["(:statuses = '[]' OR status IN (SELECT value FROM json_each(:statuses)))"]
    children = "" if parent is None else "AND parent = :parent"  # a term for the index
    pages = [
        f"""
        SELECT * FROM (
            SELECT {TASK_COLUMNS} FROM task
            WHERE key > :after AND {status}
              AND (:actors = '[]' OR actor IN (SELECT value FROM json_each(:actors)))
              AND (:pool IS NULL OR pool = :pool)
              AND (:lane IS NULL OR lane = :lane)
              {children}
            ORDER BY key LIMIT :limit
        )
        """
        for status in wanted
    ]
    return task_rows(
        connection.execute(
            f"{' UNION ALL '.join(pages)} ORDER BY key LIMIT :limit",
            {
                "after": after,
                "statuses": listed(statuses),
                "actors": listed(actors),
                "pool": pool,
                "lane": lane,
                "parent": parent,
                "limit": limit,
            },
        )
    )


_CLAIMABLE = f"""
    SELECT {TASK_COLUMNS} FROM task
    WHERE status = 'queued' AND pool = :pool AND priority = :priority AND lane IS :lane
      AND actor IN (SELECT value FROM json_each(:actors))
      AND deaths < :suspects_from
      AND (
        due_at IS NULL
        OR CASE
            WHEN due_boot IS NOT NULL AND :since_boot IS NOT NULL THEN due_boot <= :since_boot
            ELSE due_at <= :now
        END
      )
    ORDER BY key LIMIT :wanted
"""


def claimable(
    connection: sqlite3.Connection,
    pool: str,
    shares: Sequence[Share],
    actors: Collection[str],
    now: float,
    since_boot: float | None,
    suspects_from: int,
) -> list[TaskRow]:
    """Queued tasks that are due and no suspects: of each queue the oldest."""
    asked = {
        "pool": pool,
        "actors": listed(actors),
        "now": now,
        "since_boot": since_boot,
        "suspects_from": suspects_from,
    }
    with reading(connection):
        return [
            _task_row(row)
            for share in shares
            for row in connection.execute(_CLAIMABLE, asked | share._asdict())
        ]


def suspects(
    connection: sqlite3.Connection,
    pool: str,
    actors: Collection[str],
    suspects_from: int,
    limit: int,
) -> list[TaskRow]:
    """Queued suspects, due or not, those of the newest death first."""
    return task_rows(
        connection.execute(
            f"""
            SELECT {TASK_COLUMNS} FROM task
            WHERE status = 'queued' AND pool = ?
              AND actor IN (SELECT value FROM json_each(?))
              AND deaths > 0 AND deaths >= ?  -- the first is for the index
            ORDER BY death_epoch DESC, key LIMIT ?
            """,
            (pool, listed(actors), suspects_from, limit),
        )
    )


def orphans(connection: sqlite3.Connection, epoch: int, after: int, limit: int) -> list[TaskRow]:
    """Tasks shown running, or waiting in memory, under an epoch before `epoch`, by key."""
    return task_rows(
        connection.execute(
            f"""
            SELECT {TASK_COLUMNS} FROM task
            WHERE key > :after AND key IN (  -- each half by its own index
                SELECT key FROM task WHERE status = 'running' AND epoch < :epoch
                UNION ALL
                SELECT key FROM task
                WHERE status = 'waiting' AND epoch IS NOT NULL AND epoch < :epoch
            )
            ORDER BY key LIMIT :limit
            """,
            {"epoch": epoch, "after": after, "limit": limit},
        )
    )


def next_due(
    connection: sqlite3.Connection, pool: str, now: float, since_boot: float | None
) -> float | None:
    """Seconds until the first queued task of the pool falls due, of those that wait for that."""
    row: tuple[float | None] = connection.execute(
        """
        SELECT min(
            CASE
                WHEN due_boot IS NOT NULL AND :since_boot IS NOT NULL
                THEN max(due_boot - :since_boot, 0)
                ELSE min(max(due_at - :now, 0), coalesce(due_delay, due_at - :now))
            END
        )
        FROM task
        WHERE status = 'queued' AND pool = :pool AND due_at IS NOT NULL
          AND CASE
                WHEN due_boot IS NOT NULL AND :since_boot IS NOT NULL THEN due_boot > :since_boot
                ELSE due_at > :now
              END
        """,
        {"pool": pool, "now": now, "since_boot": since_boot},
    ).fetchone()
    return row[0]


def open_steps(connection: sqlite3.Connection, keys: Collection[int]) -> list[StepRow]:
    """Steps of these tasks whose newest attempt has begun and not ended."""
    rows = connection.execute(
        f"""
        SELECT {_STEP} FROM step
        WHERE task IN (SELECT value FROM json_each(?)) AND open = 1
        ORDER BY task, position
        """,
        (listed(keys),),
    )
    return [step_row(row) for row in rows]


def steps(
    connection: sqlite3.Connection, key: int, after: int, limit: int
) -> list[tuple[int, StepRow]]:
    """Steps with their row number, in the order in which they first began."""
    rows = connection.execute(
        f"SELECT position, {_STEP} FROM step WHERE task = ? AND position > ? "
        "ORDER BY position LIMIT ?",
        (key, after, limit),
    )
    return [(row[0], step_row(row[1:])) for row in rows]


def effects(connection: sqlite3.Connection, key: int) -> list[EffectRow]:
    """Effects of a task, in the order of their intents."""
    return [_effect_row(row) for row in connection.execute(_EFFECTS, (key,))]


# What every life begins with is read by statements that are put together once.
_EFFECTS = f"SELECT {_EFFECT} FROM effect WHERE task = ? ORDER BY position"
_BY_KEY = f"SELECT {TASK_COLUMNS} FROM task WHERE key = ?"
_RUNS = f"SELECT {_RUN} FROM run_change WHERE task = ? AND chapter = ? ORDER BY seq"
_BASE = f"SELECT {_SNAPSHOT} FROM snapshot WHERE task = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
_STEPS_PAGE = f"""
    SELECT {_STEP} FROM step
    WHERE task = ? AND identity > ? AND chapter = ?
      AND (seq IS NULL OR seq > ? OR above <> '')
    ORDER BY identity LIMIT ?
"""


class Head(NamedTuple):
    """What is known of a task at the first look: all that is small, and the first pages."""

    row: TaskRow
    base: SnapshotRow | None
    runs: tuple[RunRow, ...]
    effects: tuple[EffectRow, ...]
    appends: list[tuple[int, bytes]]
    """Appends up to the base that are not of steps: those of the start and of `run`."""
    steps: list[StepRow]
    step_appends: list[tuple[str, int, bytes]]


def head(
    connection: sqlite3.Connection, key: int, flow: bool, recent: bool, limit: int
) -> Head | None:
    """The first look at a task, in one transaction; None when there is no such task."""
    with reading(connection):
        row = connection.execute(_BY_KEY, (key,)).fetchone()
        return None if row is None else _head(connection, _task_row(row), flow, recent, limit)


def _head(
    connection: sqlite3.Connection, row: TaskRow, flow: bool, recent: bool, limit: int
) -> Head:
    progress = row.progress
    base = _base(connection, row.key, progress.chapter_seq if flow else progress.seq)
    upto = base.seq if base else -1
    if base is not None and upto == 0:  # nothing was appended before it but with it
        appends = [] if base.appends is None else [(0, base.appends)]
    else:
        appends = _appends(connection, row.key, upto)
    runs = connection.execute(_RUNS, (row.key, progress.chapter))
    return Head(
        row=row,
        base=base,
        runs=tuple(RunRow(*run) for run in runs),
        effects=tuple(effects(connection, row.key)),
        appends=appends,
        steps=steps_page(connection, row.key, progress.chapter, upto if recent else -1, "", limit),
        step_appends=appends_page(connection, row.key, upto, "", limit) if upto > 0 else [],
    )


def _base(connection: sqlite3.Connection, key: int, upto: int) -> SnapshotRow | None:
    """The newest snapshot up to a number."""
    found = connection.execute(_BASE, (key, upto)).fetchone()
    return None if found is None else SnapshotRow(*found)


def _appends(connection: sqlite3.Connection, key: int, upto: int) -> list[tuple[int, bytes]]:
    """What the start and `run` appended, up to a number."""
    return connection.execute(
        """
        SELECT seq, appends FROM snapshot WHERE task = :key AND seq = 0 AND appends IS NOT NULL
        UNION ALL
        SELECT seq, appends FROM run_change
        WHERE task = :key AND seq <= :upto AND appends IS NOT NULL
        """,
        {"key": key, "upto": upto},
    ).fetchall()


def steps_page(
    connection: sqlite3.Connection, key: int, chapter: int, since: int, after: str, limit: int
) -> list[StepRow]:
    """Steps of one chapter after an identity, by identity: the order of the table's index.

    Of those directly below `run` that are finished, only those that finished after `since`.
    """
    rows = connection.execute(_STEPS_PAGE, (key, after, chapter, since, limit))
    return [step_row(row) for row in rows]


def appends_page(
    connection: sqlite3.Connection, key: int, upto: int, after: str, limit: int
) -> list[tuple[str, int, bytes]]:
    """Appends of steps up to a number, as (identity, seq, appends), by identity.

    What a step below a step appended is part of the appends of the step above it.
    """
    return connection.execute(
        """
        SELECT identity, seq, appends FROM step
        WHERE task = ? AND identity > ? AND seq <= ? AND appends IS NOT NULL AND above = ''
        ORDER BY identity LIMIT ?
        """,
        (key, after, upto, limit),
    ).fetchall()
