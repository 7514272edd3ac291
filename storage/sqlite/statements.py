"""The statements that write commits, with their fences inside.

`write` puts many commits into the open transaction with one `executemany` per table. A fence that
does not hold changes fewer rows than there were parameters, which is all that is known then:
whoever is guilty is found by writing one commit at a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from ..births import Births
from ..interface import Write
from ..mail import Post
from ..records import (
    Commit,
    EffectRow,
    EventRow,
    Receipt,
    RunRow,
    SnapshotRow,
    StepReset,
    StepRow,
)
from ..schedules import ScheduleChange
from . import births, children, messages, schedules, streams
from .forgetting import forget
from .fragments import insert
from .inserts import insert_events, insert_snapshots
from .steps import step_write
from .tasks import task_write

__all__ = ["FenceError", "Write", "write"]

_RARE = Commit._fields.index("resets")
_NOTHING_RARE = tuple(Commit._field_defaults[field] for field in Commit._fields[_RARE:])


class FenceError(Exception):
    """At least one fence among the writes did not hold; the transaction must be rolled back."""


def _excluded(*fields: str) -> str:
    return ", ".join(f"{field} = excluded.{field}" for field in fields)


_RESET_STEP = """
    UPDATE step
    SET outcome = NULL, seq = NULL, error = NULL, output = NULL, changes = NULL, appends = NULL,
        due_at = NULL, due_boot = NULL, due_delay = NULL, attempts = 0, open = 0,
        deaths_seen = ?
    WHERE task = ? AND identity = ? AND outcome IS NOT 'completed'
"""

_INSERT_RUN = insert("run_change", RunRow._fields)

_UPSERT_SNAPSHOT = f"""
    {insert("snapshot", SnapshotRow._fields)}
    ON CONFLICT (task, seq) DO UPDATE SET {_excluded("chapter", "version", "state")}
"""

# What the `Log` fields held at the start is kept nowhere else than in the first snapshot.
_DELETE_SNAPSHOTS = """
    DELETE FROM snapshot WHERE task = ? AND seq < ? AND seq <> ? AND appends IS NULL
"""

_UPSERT_EFFECT = f"""
    {insert("effect", EffectRow._fields)}
    ON CONFLICT (operation) DO UPDATE
    SET {_excluded(*EffectRow._fields[2:])}
    WHERE effect.task = excluded.task
      AND (effect.state <> 'receipt'
           OR effect.decided_by IS NOT NULL AND effect.decided_by <> 'probe')
"""

_RECEIPT = """
    UPDATE effect
    SET state = ?, value = ?, error = ?, decided_by = ?, ended_at = ?
    WHERE operation = ? AND state = 'intent' AND epoch = ?
"""


def write(connection: sqlite3.Connection, writes: Sequence[Write]) -> None:
    """Write all of `writes` into the open transaction, as if one after the other.

    Raises FenceError, or IntegrityError, when one of them does not hold.
    """
    run: list[Commit] = []
    for one in writes:
        if isinstance(one, Commit) and not one.resets:
            run.append(one)
            continue
        _write_commits(connection, run)
        run = []
        if isinstance(one, Commit):
            run.append(one)
        else:
            _write_alone(connection, one)
    _write_commits(connection, run)


def _write_alone(
    connection: sqlite3.Connection, one: Births | Receipt | Post | ScheduleChange
) -> None:
    """Write what is no commit of a task. Raises what `write` does."""
    if isinstance(one, Births):
        births.create(connection, one.tasks)
        return
    if isinstance(one, Receipt):
        _write_receipt(connection, one.effect)
        return
    if isinstance(one, Post):
        held = messages.post(connection, one)
    else:
        held = schedules.change(connection, one)
    if not held:
        raise FenceError


def _write_commits(connection: sqlite3.Connection, commits: Sequence[Commit]) -> None:
    """Write commits of which only the first may have resets, one table after the other.

    Their events go before what wakes others: whom that tells of it has the higher number by then.
    """
    steps: list[StepRow] = []
    events: list[EventRow] = []
    first: list[SnapshotRow] = []
    others: list[Commit] = []
    for commit in commits:
        steps += commit.steps
        events += commit.events
        if commit.before is None:
            first += commit.snapshots
        if _has_others(commit):
            others.append(commit)
    _in_runs(connection, map(task_write, commits))
    if first:
        insert_snapshots(connection, first)
    for commit in others[:1]:
        _reset(connection, commit.resets)
    _in_runs(connection, map(step_write, steps))
    if events:
        insert_events(connection, events)
    for commit in others:
        _write_others(connection, commit)


def _has_others(commit: Commit) -> bool:
    rare = commit[_RARE:] != _NOTHING_RARE or bool(_later_snapshots(commit))
    return rare or children.concerns_family(commit)


def _later_snapshots(commit: Commit) -> Sequence[SnapshotRow]:
    """Its snapshots, but for the one that a new task begins with, which goes with others'."""
    return () if commit.before is None else commit.snapshots


def _in_runs(connection: sqlite3.Connection, writes: Iterable[tuple[str, Sequence[Any]]]) -> None:
    """Execute fenced statements in order; neighbours with the same statement go together."""
    statement = ""
    run: list[Sequence[Any]] = []
    for wanted, parameters in writes:
        if wanted is not statement:
            if run:
                _fenced(connection, statement, run)
            statement, run = wanted, []
        run.append(parameters)
    if run:
        _fenced(connection, statement, run)


def _reset(connection: sqlite3.Connection, resets: Sequence[StepReset]) -> None:
    connection.executemany(
        _RESET_STEP, [(reset.deaths_seen, reset.task, reset.identity) for reset in resets]
    )


def _write_others(connection: sqlite3.Connection, commit: Commit) -> None:
    """Write what few commits have: snapshots, effects, mail, children, pieces, a firing."""
    if commit.runs:
        connection.executemany(_INSERT_RUN, commit.runs)
    for snapshot in _later_snapshots(commit):
        connection.execute(_UPSERT_SNAPSHOT, snapshot)
        connection.execute(
            _DELETE_SNAPSHOTS, (snapshot.task, snapshot.seq, commit.after.chapter_seq)
        )
    if commit.effects:
        _fenced(connection, _UPSERT_EFFECT, commit.effects)
    if commit.follows is not None and not children.is_still_asked(connection, commit):
        raise FenceError
    if commit.takes and not messages.take(connection, commit.takes, commit.after.seq):
        raise FenceError
    for message in commit.sends:
        messages.send(connection, message)
    if commit.chunks:
        streams.append(connection, commit.chunks)
    if commit.schedule is not None and not schedules.change(connection, commit.schedule):
        raise FenceError
    if commit.keeps is not None:
        for snapshot in commit.snapshots:
            forget(connection, commit.task, snapshot.seq, commit.keeps)
    if commit.starts:
        births.create(connection, commit.starts)
    if children.concerns_family(commit):
        children.family(connection, commit)
    if commit.awaits:
        children.wake_unless_waiting(connection, commit)
    if commit.seen is not None:
        messages.wake_unseen(connection, commit)


def _write_receipt(connection: sqlite3.Connection, effect: EffectRow) -> None:
    parameters = (
        effect.state,
        effect.value,
        effect.error,
        effect.decided_by,
        effect.ended_at,
        effect.operation,
        effect.epoch,
    )
    _fenced(connection, _RECEIPT, [parameters])


def _fenced(connection: sqlite3.Connection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Execute a statement for each of `rows`, each of which must change exactly one row."""
    if connection.executemany(statement, rows).rowcount != len(rows):
        raise FenceError
