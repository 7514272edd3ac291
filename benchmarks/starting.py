"""Starting tasks: many by one call, and one by one by many callers, beside the rows alone.

    python -m benchmarks.starting           some ten seconds
    python -m benchmarks.starting --quick   a few

The only slot of the pool is taken, so the tasks are durable and wait: what is measured is their
start. Beside it the standard library's `sqlite3` writes the very rows that everstep left, in as
many transactions as everstep made of them. Everything is read and prepared beforehand there.
"""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from everstep import Actor, Pool, Runtime, step

from .instrument import main
from .queued import Count
from .rows import POWER_CUT, Row, Side

__all__ = ["rows"]

CALLERS = 100
FULL, QUICK = (20_000, 5), (2000, 2)
"""(tasks, repetitions)"""
AIM = 10_000
"""Tasks that one call of `start_many` is to start in a second."""
_TABLES = ("task", "snapshot", "event")
_PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "temp_store = MEMORY")
Start = Callable[[Runtime, int], Awaitable[None]]


class Held(Actor, name="benchmarks.started.Held"):
    """Keeps the only slot."""

    count: ClassVar[Count]

    @step
    async def hold(self) -> None:
        self.count.one_more()
        await asyncio.Event().wait()


class Parcel(Actor, name="benchmarks.started.Parcel"):
    """What is started: a plan of one step, with two small fields."""

    number: int
    topic: str = "refunds"

    @step
    async def send(self) -> int:
        return self.number


async def _by_one_call(runtime: Runtime, tasks: int) -> None:
    await runtime.start_many(Parcel(number=number) for number in range(tasks))


async def _one_by_one(runtime: Runtime, tasks: int) -> None:
    numbers = iter(range(tasks))

    async def caller() -> None:
        for number in numbers:
            await runtime.start(Parcel(number=number))

    await asyncio.gather(*(caller() for _ in range(CALLERS)))


async def _started(file: Path, start: Start, tasks: int) -> tuple[float, int]:
    """Seconds in which so many tasks were started, and in how many transactions."""
    Held.count = Count()
    async with Runtime(file, tree=Pool(max_running=1), grace=0) as runtime:
        await runtime.start(Held())
        await Held.count.until(1)
        await start(runtime, 500)  # all is imported and ready
        gc.collect()
        before, at = _batches(file), time.perf_counter()
        await start(runtime, tasks)
        return time.perf_counter() - at, _batches(file) - before


def _batches(file: Path) -> int:
    """The number of the newest transaction of a store."""
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
        (number,) = connection.execute("SELECT batch FROM node").fetchone()
        return int(number)


def _alone(left: Path, new: Path, tasks: int, transactions: int) -> float:
    """Seconds in which `sqlite3` writes the newest tasks of the file `left` into a new one."""
    with closing(sqlite3.connect(f"{left.as_uri()}?mode=ro", uri=True)) as connection:
        schema = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master") if sql]
        (first,) = connection.execute(
            "SELECT min(key) FROM (SELECT key FROM task ORDER BY key DESC LIMIT ?)", (tasks,)
        ).fetchone()
        found = {table: _rows_of(connection, table, first) for table in _TABLES}
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        for sql in (*(f"PRAGMA {pragma}" for pragma in _PRAGMAS), *schema):
            connection.execute(sql)
        gc.collect()
        at = time.perf_counter()
        for part in range(transactions):
            connection.execute("BEGIN IMMEDIATE")
            for statement, written in found.values():
                size = len(written)
                some = written[size * part // transactions : size * (part + 1) // transactions]
                connection.executemany(statement, some)
            connection.execute("COMMIT")
        return time.perf_counter() - at


def _rows_of(
    connection: sqlite3.Connection, table: str, first: int
) -> tuple[str, list[tuple[Any, ...]]]:
    """The statement that inserts a row of a table, and the rows of the tasks from one on."""
    facts = connection.execute(f"PRAGMA table_info({table})")
    columns = ", ".join(name for _, name, *_ in facts if name != "position")
    key = "key" if table == "task" else "task"
    rows = connection.execute(
        f"SELECT {columns} FROM {table} WHERE {key} >= ? ORDER BY {key}", (first,)
    ).fetchall()
    return f"INSERT INTO {table} ({columns}) VALUES (?{', ?' * columns.count(',')})", rows


def rows(quick: bool, where: Path) -> list[Row]:
    """Measure how many tasks are started in a second, both ways, by turns."""
    tasks, times = QUICK if quick else FULL
    ways: dict[str, tuple[Start, list[float], list[float]]] = {
        "tasks started by start_many": (_by_one_call, [], []),
        f"tasks started one by one by {CALLERS} callers": (_one_by_one, [], []),
    }
    with tempfile.TemporaryDirectory(dir=where) as folder:
        for number in range(times):
            for start, ours, alone in ways.values():
                file = Path(folder).resolve() / f"{start.__name__}{number}.db"
                seconds, transactions = asyncio.run(_started(file, start, tasks))
                ours.append(tasks / seconds)
                raw = _alone(file, file.with_suffix(".raw"), tasks, transactions)
                alone.append(tasks / raw)
    return [_row(what, ours, alone) for what, (_, ours, alone) in ways.items()]


def _row(what: str, ours: list[float], alone: list[float]) -> Row:
    bulk = "start_many" in what
    side = Side("everstep", POWER_CUT, tuple(ours))
    return Row(
        what,
        "tasks/s",
        side,
        (Side("sqlite3", POWER_CUT, tuple(alone)),),
        f"{AIM:,}" if bulk else "",
        side.median >= AIM if bulk else None,
    )


if __name__ == "__main__":
    main(rows)
