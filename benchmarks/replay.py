"""The rows that everstep wrote, written again by the standard library's sqlite3 alone.

The rows are read back from the file that everstep left, and so are its tables, its indexes and
the number of its transactions (`node.batch`). They are written in the order in which everstep
wrote them, into a new file with the same pragmas, in as many transactions of equal size. All of
it is prepared beforehand: what is timed is `executemany` and COMMIT, on the main thread. Or, beside
one task alone, in a transaction for each commit, each a hop to another thread and back.
"""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

__all__ = ["Replayed", "replay", "replay_through_thread"]

Row = tuple[Any, ...]
_Batch = list[tuple[str, list[Row]]]
"""What one transaction executes: statements, each with its rows."""

_PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "temp_store = MEMORY",
    "journal_size_limit = 67108864",
)
_TABLES = ("task", "snapshot", "step", "event")
_BEFORE: dict[str, object] = {
    "status": "running", "seq": 0, "event_seq": 2, "reason": None, "output": None, "error": None,
}  # fmt: skip
"""What stood in a task's row after its first commit, as far as that differs from its last."""
_STARTED = "step_started"
"""The event with which every commit of a task but its first begins."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What the rows of one run of everstep took without it."""

    steps: int
    commits: int
    transactions: int
    seconds: float
    cpu: float
    """CPU seconds of the process."""


@dataclass(slots=True)
class _Commit:
    """One write of one task: a few inserts, and the update of its row."""

    inserts: dict[str, list[Row]] = field(
        default_factory=lambda: {table: list[Row]() for table in _TABLES}
    )
    advances: list[Row] = field(default_factory=list[Row])
    """(seq, event_seq, updated_at, key)"""
    ends: list[Row] = field(default_factory=list[Row])
    """All that changes at a task's end, and the key."""


class _Left:
    """What everstep left in a file: its rows, as commits in the order of their writing."""

    def __init__(self, file: Path) -> None:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
            made = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
            self.schema: list[str] = [sql for (sql,) in made]
            (self.transactions,) = connection.execute("SELECT batch FROM node").fetchone()
            self.columns: dict[str, list[str]] = {}
            self._rows: dict[str, list[Row]] = {}
            for table in _TABLES:
                self._read(connection, table)
        self.commits = self._as_commits()

    def _read(self, connection: sqlite3.Connection, table: str) -> None:
        facts = connection.execute(f"PRAGMA table_info({table})")
        self.columns[table] = [name for _, name, *_ in facts if name != "position"]
        order = "key" if table == "task" else "position"
        names = ", ".join(self.columns[table])
        self._rows[table] = connection.execute(
            f"SELECT {names} FROM {table} ORDER BY {order}"
        ).fetchall()

    def _place(self, table: str, column: str) -> int:
        return self.columns[table].index(column)

    def _as_commits(self) -> list[_Commit]:
        """Each commit holds a task's events up to its next step, and what they tell of."""
        kind, step = self._place("event", "kind"), self._place("event", "step")
        commits: list[_Commit] = []
        present: dict[int, _Commit] = {}
        tasks = {row[0]: row for row in self._rows["task"]}
        snapshots = {row[0]: row for row in self._rows["snapshot"]}
        steps = {(row[0], row[1]): row for row in self._rows["step"]}
        for event in self._rows["event"]:
            key = event[0]
            if key not in present:
                commits.append(commit := _Commit())
                commit.inserts["task"].append(self._as_started(tasks[key]))
                commit.inserts["snapshot"].append(snapshots[key])
                present[key] = commit
            elif event[kind] == _STARTED:
                commits.append(commit := _Commit())
                commit.inserts["step"].append(steps[key, event[step]])
                present[key] = commit
            present[key].inserts["event"].append(event)
        for commit in commits:
            self._update(commit, tasks)
        return commits

    def _as_started(self, task: Row) -> Row:
        there = zip(self.columns["task"], task, strict=True)
        epoch = {"epoch": 1}
        return tuple({**_BEFORE, **epoch}.get(column, value) for column, value in there)

    def _update(self, commit: _Commit, tasks: dict[int, Row]) -> None:
        if commit.inserts["task"]:
            return
        events, (step, *_) = commit.inserts["event"], commit.inserts["step"]
        key, event_seq, at, *_ = events[-1]
        seq = step[self._place("step", "seq")]
        task = dict(zip(self.columns["task"], tasks[key], strict=True))
        if task["seq"] == seq:
            changes = (task["status"], task["epoch"], task["output"])
            commit.ends.append((*changes, seq, event_seq, task["updated_at"], key))
        else:
            commit.advances.append((seq, event_seq, at, key))

    def inserts(self) -> dict[str, str]:
        """The statement that inserts a row, for each table."""
        return {
            table: f"INSERT INTO {table} ({', '.join(names)}) VALUES (?{', ?' * (len(names) - 1)})"
            for table, names in self.columns.items()
        }


_ADVANCE = "UPDATE task SET seq = ?, event_seq = ?, updated_at = ? WHERE key = ?"
_END = """
    UPDATE task
    SET status = ?, epoch = ?, output = ?, seq = ?, event_seq = ?, updated_at = ?
    WHERE key = ?
"""


def replay(left: Path, new: Path) -> Replayed:
    """Write what the file `left` holds into the new file `new`, and say how long that took."""
    found = _Left(left)
    batches = _batches(found, found.transactions)
    gc.collect()
    with closing(_opened(new, found.schema)) as connection:
        began, burned = time.perf_counter(), time.process_time()
        for number, batch in enumerate(batches):
            _write(connection, number, batch)
        seconds, cpu = time.perf_counter() - began, time.process_time() - burned
    steps = sum(len(commit.inserts["step"]) for commit in found.commits)
    return Replayed(steps, len(found.commits), len(batches), seconds, cpu)


async def replay_through_thread(left: Path, new: Path) -> list[float]:
    """Write each commit of the file `left` in a transaction of its own, in another thread.

    Returns the seconds of each, from the loop to the thread, on the disk, and back to the loop.
    """
    found = _Left(left)
    batches = _batches(found, len(found.commits))
    gc.collect()
    loop, taken = asyncio.get_running_loop(), list[float]()
    with closing(_opened(new, found.schema)) as connection, ThreadPoolExecutor(1) as thread:
        for number, batch in enumerate(batches):
            began = time.perf_counter()
            await loop.run_in_executor(thread, _write, connection, number, batch)
            taken.append(time.perf_counter() - began)
    return taken


def _batches(left: _Left, transactions: int) -> list[_Batch]:
    inserts = left.inserts()
    return [list(_statements(batch, inserts)) for batch in _equal(left.commits, transactions)]


def _opened(new: Path, schema: list[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(new, isolation_level=None, check_same_thread=False)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    for sql in schema:
        connection.execute(sql)
    connection.execute("INSERT INTO node VALUES (1, 1, 0, '', '', 0, 0)")
    return connection


def _write(connection: sqlite3.Connection, number: int, batch: _Batch) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE node SET batch = ? WHERE epoch = 1", (number,))
    for statement, rows in batch:
        connection.executemany(statement, rows)
    connection.execute("COMMIT")


def _statements(commits: list[_Commit], inserts: dict[str, str]) -> Iterable[tuple[str, list[Row]]]:
    """What one transaction executes: one `executemany` for each kind of row in it."""
    for table, statement in inserts.items():
        if rows := [row for commit in commits for row in commit.inserts[table]]:
            yield statement, rows
    if advances := [row for commit in commits for row in commit.advances]:
        yield _ADVANCE, advances
    if ends := [row for commit in commits for row in commit.ends]:
        yield _END, ends


def _equal(commits: list[_Commit], parts: int) -> list[list[_Commit]]:
    """The commits in order, in so many parts whose sizes differ by one at most."""
    parts = min(parts, len(commits))
    bounds = [len(commits) * part // parts for part in range(parts + 1)]
    return [commits[start:end] for start, end in pairwise(bounds)]
