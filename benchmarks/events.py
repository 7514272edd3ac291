"""Reading from a file of 10,000,000 events: the log by cursor, and lists of tasks.

    python -m benchmarks.events           some minutes, and 3 GB of disk
    python -m benchmarks.events --quick   some seconds, with 200,000 events

One plan of three steps ran through everstep; its rows were copied until there are so many events.
Then one event in a hundred was renamed, one task in ten thousand shown as failed, and one task was
given a hundred thousand events. Each read goes through the public `Runtime`, from a random place.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

from everstep import Actor, Runtime, Status, step

from .copies import multiply
from .instrument import main
from .rows import POWER_CUT, Row, Side

__all__ = ["rows"]

FULL, QUICK = 10_000_000, 200_000
PAGE = 100
MOST = 5.0
"""Milliseconds that a page may take."""
RARE = 100
"""One event in so many is of the kind that is looked for."""
FAILED = 10_000
TALKED = 100_000
"""Events of the one task that has many."""


class Ordinary(Actor, name="benchmarks.Ordinary"):
    """A plan of three steps that emits nothing."""

    rows: int = 0

    @step
    async def load(self) -> int:
        self.rows = 3
        return 3

    @step
    async def work(self) -> int:
        return 2

    @step
    async def save(self) -> int:
        return 1


async def _one(file: Path) -> int:
    """Run one task; how many events it left."""
    async with Runtime(file) as runtime:
        task = await runtime.start(Ordinary())
        await task.result()
        return len([event async for event in task.events()])


def _fill(file: Path, events: int) -> None:
    each = asyncio.run(_one(file))
    multiply(file, max(events - TALKED, each) // each, ("task", "event"))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(
            f"""
            WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {TALKED})
            INSERT INTO event (task, seq, at, kind, step, data)
            SELECT 1, 1000 + n, at, 'said', step, data FROM n CROSS JOIN event
            WHERE event.position = 1
            """
        )
        connection.execute("UPDATE event SET kind = 'rare' WHERE position % ? = 0", (RARE,))
        connection.execute("UPDATE task SET status = 'failed' WHERE key % ? = 0", (FAILED,))
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


Read = Callable[[], Coroutine[Any, Any, object]]


async def _page(found: AsyncIterator[object]) -> int:
    """Take a page of what is found; how many those were."""
    count = 0
    async for _ in found:
        count += 1
        if count == PAGE:
            break
    return count


async def _timed(read: Read, times: int) -> list[float]:
    """Milliseconds of each of so many reads."""
    taken: list[float] = []
    for _ in range(times):
        at = time.perf_counter()
        found = await read()
        taken.append((time.perf_counter() - at) * 1000)
        assert found
    return taken


async def _measure(file: Path, events: int, times: int) -> list[Row]:
    chance = random.Random(7)
    with closing(sqlite3.connect(file)) as connection:
        keys = [
            str(row[0])
            for row in connection.execute("SELECT id FROM task WHERE key % 1009 = 1").fetchall()
        ]
        first = str(connection.execute("SELECT id FROM task WHERE key = 1").fetchone()[0])

    def place() -> int:
        return chance.randrange(events * 9 // 10)

    async with Runtime(file) as runtime:
        reads: dict[str, Read] = {
            "of all": lambda: _page(runtime.events(after=place())),
            f"of a kind, one in {RARE}": lambda: _page(runtime.events(after=place(), kind="rare")),
            "of a class and a pool": lambda: _page(
                runtime.events(after=place(), actor=Ordinary, pool="tasks")
            ),
            f"of one task with {TALKED:,}": lambda: _page(
                runtime.task(first).events(after=1000 + chance.randrange(TALKED - PAGE))
            ),
            "of one task with few": lambda: _page(runtime.task(chance.choice(keys)).events()),
        }
        lists: dict[str, Read] = {
            "tasks, any": lambda: runtime.tasks(after=chance.choice(keys[:-1])),
            f"failed tasks, one in {FAILED:,}": lambda: runtime.tasks(status=Status.FAILED),
            "tasks of a class": lambda: runtime.tasks(
                actor=Ordinary, after=chance.choice(keys[:-1])
            ),
        }
        measured = [
            *[(f"events {what}", read) for what, read in reads.items()],
            *lists.items(),
        ]
        found: list[Row] = []
        for what, read in measured:
            side = Side("everstep", POWER_CUT, tuple(await _timed(read, times)))
            aim = f"under {MOST:g} at {FULL:,}"
            met = side.median < MOST if events >= FULL else None
            found.append(Row(f"a page of {PAGE} {what}, of {events:,}", "ms", side, (), aim, met))
        return found


def rows(quick: bool, where: Path) -> list[Row]:
    """What a page costs where there are many."""
    events = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(dir=where) as folder:
        file = Path(folder) / "events.db"
        _fill(file, events)
        return asyncio.run(_measure(file, events, 10 if quick else 50))


if __name__ == "__main__":
    main(rows)
