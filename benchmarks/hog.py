"""A busy loop beside commits: a task that computes 100 us and yields, for ever.

    python -m benchmarks.hog           a minute
    python -m benchmarks.hog --quick   some seconds

100 tasks commit one step after the other, and the steps of some seconds are counted, without and
with the busy task. Beside it, the same with `sqlite3` in a thread: 100 tasks that queue a row, and
one that hands over what has queued and waits for the commit, as a plain program would. Nothing
there makes up for the busy loop.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from everstep import Actor, Pool, Runtime, step

from .instrument import main
from .rows import POWER_CUT, Row, Side

__all__ = ["rows"]

TASKS = 100
TURN = 100e-6
"""Seconds that the busy task computes before it yields."""


class Counted(Actor, name="benchmarks.Counted"):
    """Commits one step after the other."""

    count: ClassVar[int] = 0
    """Steps that were begun; all but the newest of each task are durable."""

    async def run(self) -> None:
        while True:
            await self.work()

    @step
    async def work(self) -> int:
        type(self).count += 1
        return 1


async def _hog() -> None:
    while True:
        until = time.perf_counter() + TURN
        while time.perf_counter() < until:
            pass
        await asyncio.sleep(0)


async def _counted(count: Callable[[], int], seconds: float, *, busy: bool) -> float:
    """Commits a second, in so many seconds."""
    hog = asyncio.create_task(_hog()) if busy else None
    await asyncio.sleep(seconds / 4)  # both have come into their stride
    before, at = count(), time.perf_counter()
    await asyncio.sleep(seconds)
    taken = (count() - before) / (time.perf_counter() - at)
    if hog is not None:
        hog.cancel()
    return taken


async def _everstep(folder: Path, seconds: float, busy: bool) -> float:
    async with Runtime(folder / "hog.db", tree=Pool(), grace=0) as runtime:
        for _ in range(TASKS):
            await runtime.start(Counted())
        return await _counted(lambda: Counted.count, seconds, busy=busy)


class Plain:
    """Group commit through a thread, with nothing else."""

    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._thread = thread
        self._queue: list[asyncio.Future[None]] = []
        self._more = asyncio.Event()
        self.count = 0

    async def work(self) -> None:
        """Queue a row, and wait until it is durable; again and again."""
        while True:
            future = asyncio.get_running_loop().create_future()
            self._queue.append(future)
            self._more.set()
            await future
            self.count += 1

    async def write(self) -> None:
        """Commit what has queued, as long as there is any."""
        loop = asyncio.get_running_loop()
        while await self._more.wait():
            self._more.clear()
            batch, self._queue = self._queue, []
            await loop.run_in_executor(self._thread, self._commit, len(batch))
            for future in batch:
                future.set_result(None)

    def _commit(self, rows: int) -> None:
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT INTO item VALUES (?)", [(b"1" * 400,)] * rows)
        self._connection.execute("COMMIT")


async def _plain(folder: Path, seconds: float, busy: bool) -> float:
    file = folder / "plain.db"
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    with closing(connection), ThreadPoolExecutor(1) as thread:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE item (body BLOB)")
        plain = Plain(connection, thread)
        working = [asyncio.create_task(plain.work()) for _ in range(TASKS)]
        working.append(asyncio.create_task(plain.write()))
        taken = await _counted(lambda: plain.count, seconds, busy=busy)
        for task in working:
            task.cancel()
        await asyncio.wait(working)
        return taken


Measure = Callable[[Path, float, bool], Coroutine[Any, Any, float]]


def _rates(measure: Measure, where: Path, seconds: float) -> tuple[float, float]:
    """Commits a second, without the busy task and with it."""
    found: list[float] = []
    for busy in (False, True):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            found.append(asyncio.run(measure(Path(folder), seconds, busy)))
    return found[0], found[1]


def rows(quick: bool, where: Path) -> list[Row]:
    """What a busy loop leaves of the commits."""
    seconds, times = (0.4, 1) if quick else (3.0, 3)
    ours: list[tuple[float, float]] = []
    plain: list[tuple[float, float]] = []
    for _ in range(times):
        ours.append(_rates(_everstep, where, seconds))
        plain.append(_rates(_plain, where, seconds))

    def sides(value: Callable[[tuple[float, float]], float]) -> tuple[Side, tuple[Side, ...]]:
        return (
            Side("everstep", POWER_CUT, tuple(map(value, ours))),
            (Side("sqlite3 in a thread", POWER_CUT, tuple(map(value, plain))),),
        )

    share, share_beside = sides(lambda rates: rates[1] / rates[0] * 100)
    return [
        Row(f"commits of {TASKS} tasks", "a second", *sides(lambda rates: rates[0])),
        Row("the same beside a busy loop", "a second", *sides(lambda rates: rates[1])),
        Row("the second by the first", "%", share, share_beside, "at least 50", share.median >= 50),
    ]


if __name__ == "__main__":
    main(rows)
