"""A long queue: what a task in it costs in memory, and how soon one of it goes on.

    python -m benchmarks.queued           some minutes
    python -m benchmarks.queued --quick   some seconds

Tasks are queued behind one that holds the only slot, in 1,000 lanes; then the runtime is entered
anew on the file that they left. There is no baseline: the figure to look at is whether it grows
with the length of the queue.
"""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path
from typing import ClassVar, NamedTuple

from everstep import Actor, Pool, Runtime, step

from . import machine
from .instrument import main
from .rows import POWER_CUT, Row, Side

__all__ = ["Count", "rows"]

FULL = (1000, 10_000, 100_000)
QUICK = (1000, 3000)
LANES = 1000


class Count:
    """Lets one wait until so many tasks have come to a place."""

    def __init__(self) -> None:
        self.reached = 0
        self._many = asyncio.Event()
        self._wanted = 0

    def one_more(self) -> None:
        self.reached += 1
        if self.reached >= self._wanted:
            self._many.set()

    async def until(self, wanted: int) -> None:
        self._wanted = wanted
        self._many.clear()
        if self.reached < wanted:
            await self._many.wait()


class Held(Actor, name="benchmarks.Held"):
    """Keeps its slot."""

    count: ClassVar[Count]

    @step
    async def hold(self) -> None:
        self.count.one_more()
        await asyncio.Event().wait()


class Line(NamedTuple):
    """One length of the queue."""

    tasks: int
    bytes_a_task: float
    """Growth of resident memory while they were queued."""
    objects: int
    """Growth of what the collector tracks."""
    first: float
    """Seconds from entering until the first one runs."""
    page: float
    """Seconds until 64 more run, after the limit was raised."""


async def _measure(tasks: int, folder: Path) -> Line:
    Held.count = Count()
    file = folder / f"{tasks}.db"
    async with Runtime(file, tree=Pool(max_running=1), grace=0) as runtime:
        await runtime.start(Held())
        await asyncio.gather(*(runtime.start(Held(), lane=str(n)) for n in range(LANES)))
        gc.collect()
        memory, objects = machine.resident(), len(gc.get_objects())
        for first in range(0, tasks, LANES):
            await asyncio.gather(
                *(runtime.start(Held(), lane=str(n)) for n in range(min(LANES, tasks - first)))
            )
        gc.collect()
        memory, objects = machine.resident() - memory, len(gc.get_objects()) - objects
    return Line(tasks, memory / tasks, objects, *await _entered(file))


async def _entered(file: Path) -> tuple[float, float]:
    Held.count = Count()
    at = time.perf_counter()
    async with Runtime(file, tree=Pool(max_running=1), grace=0) as runtime:
        await Held.count.until(1)
        first = time.perf_counter() - at
        at = time.perf_counter()
        await runtime.tree.pool("tasks").reconfigure(max_running=65)
        await Held.count.until(65)
        return first, time.perf_counter() - at


def rows(quick: bool, where: Path) -> list[Row]:
    lines = [asyncio.run(_measure(tasks, where)) for tasks in (QUICK if quick else FULL)]
    return [row for line in lines for row in _rows(f"{line.tasks:,} tasks queued", line)]


def _rows(what: str, line: Line) -> list[Row]:
    return [
        Row(f"{what}: {of}", unit, Side("everstep", POWER_CUT, (value,)))
        for of, unit, value in (
            ("memory", "bytes each", line.bytes_a_task),
            ("objects that the collector tracks", "objects", float(line.objects)),
            ("entered anew, until the first one runs", "ms", line.first * 1000),
            ("64 more let in, until they run", "ms", line.page * 1000),
        )
    ]


if __name__ == "__main__":
    main(rows)
