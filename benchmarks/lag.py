"""The loop's lag under full load: how late a timer is, beside 1,000 tasks of no-op steps.

    python -m benchmarks.lag [--quick]

A coroutine asks again and again to be woken in a millisecond, and notes how late that was: as long
waits whatever else runs in the process. Meanwhile 1,000 tasks commit one step after the other.
Beside it plain asyncio: 1,000 tasks of no-op coroutines that yield after each.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from everstep import Actor, Pool, Runtime, step

from .instrument import main
from .rows import NONE, POWER_CUT, Row, Side, percentile, together

__all__ = ["rows"]

TASKS = 1000
PAUSE = 0.001
MOST = 20.0
"""Milliseconds that 99 of 100 turns are late at most."""


class Busy(Actor, name="benchmarks.Busy"):
    """Commits one step after the other."""

    begun: ClassVar[int]
    all_busy: ClassVar[asyncio.Event]

    async def run(self) -> None:
        while True:
            await self.work()

    @step
    async def work(self) -> dict[str, int]:
        type(self).begun += 1
        if self.begun == 2 * TASKS:
            self.all_busy.set()
        return {"rows": 3}


async def _late(seconds: float) -> list[float]:
    """By how many milliseconds each turn was late, over so many seconds."""
    late: list[float] = []
    until = time.perf_counter() + seconds
    while (at := time.perf_counter()) < until:
        await asyncio.sleep(PAUSE)
        late.append((time.perf_counter() - at - PAUSE) * 1000)
    return late


async def _everstep(file: Path, seconds: float) -> list[float]:
    Busy.begun, Busy.all_busy = 0, asyncio.Event()
    async with Runtime(file, tree=Pool(max_running=TASKS), grace=0) as runtime:
        await runtime.start_many(Busy() for _ in range(TASKS))
        await Busy.all_busy.wait()
        return await _late(seconds)


async def _plain(seconds: float) -> list[float]:
    async def work() -> dict[str, int]:
        await asyncio.sleep(0)
        return {"rows": 3}

    async def run() -> None:
        while True:
            await work()

    running = [asyncio.create_task(run()) for _ in range(TASKS)]
    late = await _late(seconds)
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    return late


def rows(quick: bool, where: Path) -> list[Row]:
    seconds, times = (1.0, 1) if quick else (5.0, 5)
    ours: list[list[float]] = []
    plain: list[list[float]] = []
    for _ in range(times):
        gc.collect()
        with tempfile.TemporaryDirectory(dir=where) as folder:
            ours.append(asyncio.run(_everstep(Path(folder) / "lag.db", seconds)))
        plain.append(asyncio.run(_plain(seconds)))
    found: list[Row] = []
    for percent in (50, 99, 100):
        side = Side("everstep", POWER_CUT, tuple(percentile(one, percent) for one in ours))
        beside = Side("asyncio", NONE, tuple(percentile(one, percent) for one in plain))
        name = "the longest" if percent == 100 else f"p{percent}"
        what = f"{together(TASKS)}: lag of the loop, {name}"
        aimed = percent == 99
        aim, met = (f"under {MOST:g}", side.median < MOST) if aimed else ("", None)
        found.append(Row(what, "ms", side, (beside,), aim, met))
    return found


if __name__ == "__main__":
    main(rows)
