"""Tasks that wait out of memory: what wakes them, and what they cost the others.

    python -m benchmarks.waits           some minutes
    python -m benchmarks.waits --quick   some seconds

First, tasks that wait for a message are each sent one, in random order. Then a file with many
sleeping tasks is entered: one task was put to sleep by everstep, and its rows were copied, each
copy with an instant of its own. There is no baseline: the figures to look at are whether anything
grows with the number of those that wait.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sqlite3
import statistics
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from everstep import Actor, Pool, Runtime, step
from everstep.storage.sqlite.waits import next_wait

from . import machine
from .copies import multiply
from .instrument import main
from .queued import Count
from .rows import POWER_CUT, Row, Side

__all__ = ["rows"]

MESSAGES, ROWS = (1000, 30_000), (1000, 100_000, 1_000_000)
QUICK_MESSAGES, QUICK_ROWS = (500,), (1000, 20_000)
TOGETHER = 500
"""Calls that are under way at once."""
MONTH = 30 * 86_400.0
MEMORY, DUE = 300.0, 5.0
"""What is aimed at, however many wait: less than so many megabytes, so many milliseconds."""


class Listener(Actor, name="benchmarks.Listener"):
    """Ends with the message that it hears."""

    gone: ClassVar[Count]
    """Those that have left memory."""

    async def run(self) -> int:
        try:
            return await self.ctx.receive(int)
        finally:
            if self.ctx.suspended:
                self.gone.one_more()


class Sleeper(Actor, name="benchmarks.Sleeper"):
    gone: ClassVar[Count]

    async def run(self) -> None:
        try:
            await self.ctx.sleep(MONTH)
        finally:
            if self.ctx.suspended:
                self.gone.one_more()


class Brief(Actor, name="benchmarks.Brief"):
    """A task beside those that wait."""

    @step
    async def answer(self) -> int:
        return 42


class Woken(NamedTuple):
    """So many tasks, each woken by a message."""

    tasks: int
    parked: float
    """Started and gone from memory, a second."""
    waiting_bytes: float
    """Growth of resident memory while all of them wait, a task."""
    woken: float
    """Sent a message, and ended, a second."""
    peak_bytes: float
    """Growth of resident memory when all have ended, a task."""


class Asleep(NamedTuple):
    """A file with so many sleeping tasks."""

    rows: int
    megabytes: float
    entered: float
    """Seconds until a runtime is entered."""
    resident: float
    """Growth of resident memory by that, in bytes."""
    next_due: float
    """Seconds of the query for the next due timer."""
    brief: float
    """Seconds from the start of a task of one step to its result."""


async def _all(count: int, call: Callable[[int], Coroutine[Any, Any, object]]) -> None:
    """Make so many calls, some at once."""
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await call(number)

    await asyncio.gather(*(work() for _ in range(TOGETHER)))


async def _woken(tasks: int, folder: Path) -> Woken:
    async with Runtime(folder / "woken.db", tree=Pool(), idle_after=0) as runtime:
        Listener.gone = Count()
        gc.collect()
        memory, at = machine.resident(), time.perf_counter()
        await _all(tasks, lambda number: runtime.start(Listener(), id=str(number)))
        await Listener.gone.until(tasks)
        parked = time.perf_counter() - at
        gc.collect()
        waiting = machine.resident() - memory

        order = list(range(tasks))
        random.Random(tasks).shuffle(order)
        at = time.perf_counter()

        async def wake(number: int) -> None:
            task = runtime.task(str(order[number]))
            await task.send(number)
            await task.result()

        await _all(tasks, wake)
        woken = time.perf_counter() - at
        gc.collect()
        peak = machine.resident() - memory
    return Woken(tasks, tasks / parked, waiting / tasks, tasks / woken, peak / tasks)


async def _one_asleep(file: Path) -> None:
    async with Runtime(file, idle_after=0) as runtime:
        Sleeper.gone = Count()
        await runtime.start(Sleeper())
        await Sleeper.gone.until(1)


def _next_due(file: Path) -> float:
    connection = sqlite3.connect(file)
    now, taken = time.time(), list[float]()
    for _ in range(20):
        at = time.perf_counter()
        left = next_wait(connection, "tasks", now, time.clock_gettime(time.CLOCK_BOOTTIME))
        taken.append(time.perf_counter() - at)
        assert left is not None
    connection.close()
    return statistics.median(taken)


async def _asleep(rows: int, folder: Path) -> Asleep:
    file = folder / f"{rows}.db"
    await _one_asleep(file)
    multiply(file, rows)
    gc.collect()
    memory, at = machine.resident(), time.perf_counter()
    async with Runtime(file) as runtime:
        entered = time.perf_counter() - at
        taken: list[float] = []
        for _ in range(20):
            at = time.perf_counter()
            await (await runtime.start(Brief())).result()
            taken.append(time.perf_counter() - at)
        gc.collect()
        memory = machine.resident() - memory
    size = file.stat().st_size / 1e6
    return Asleep(rows, size, entered, memory, _next_due(file), statistics.median(taken))


def rows(quick: bool, where: Path) -> list[Row]:
    found: list[Row] = []
    for tasks in QUICK_MESSAGES if quick else MESSAGES:
        place = where / f"woken {tasks}"
        place.mkdir()
        found += _of_woken(f"{tasks:,} wait for a message", asyncio.run(_woken(tasks, place)))
    for count in QUICK_ROWS if quick else ROWS:
        found += _of_asleep(f"{count:,} asleep", asyncio.run(_asleep(count, where)))
    return found


def _of_woken(what: str, woken: Woken) -> list[Row]:
    return [
        Row(f"{what}: started and gone from memory", "tasks/s", _once(woken.parked)),
        Row(f"{what}: memory", "bytes each", _once(woken.waiting_bytes)),
        Row(f"{what}: sent it and ended", "tasks/s", _once(woken.woken)),
        Row(f"{what}: memory when all have ended", "bytes each", _once(woken.peak_bytes)),
    ]


def _of_asleep(what: str, asleep: Asleep) -> list[Row]:
    memory, due = asleep.resident / 1e6, asleep.next_due * 1000
    small, soon = f"under {MEMORY:.0f} MB", f"under {DUE:.0f} ms"
    return [
        Row(f"{what}: the file", "MB", _once(asleep.megabytes)),
        Row(f"{what}: a runtime entered", "ms", _once(asleep.entered * 1000)),
        Row(f"{what}: memory by that", "MB", _once(memory), (), small, memory < MEMORY),
        Row(f"{what}: the next due timer found", "ms", _once(due), (), soon, due < DUE),
        Row(f"{what}: beside them a task of one step", "ms", _once(asleep.brief * 1000)),
    ]


def _once(value: float) -> Side:
    return Side("everstep", POWER_CUT, (value,))


if __name__ == "__main__":
    main(rows)
