"""Steps that wait 200 ms for a model, with many tasks at once.

    python -m benchmarks.models [--quick]

Each task takes one such step after the other. The first ones begin when all tasks are there, and
end spread over 200 ms, as those of tasks that have nothing to do with each other; the time is taken
from then until each has taken some steps, on average. The ideal beside it: the same coroutines as
tasks of plain asyncio, which survive nothing. With N tasks that is nearly N / 0.2 s. At 10,000 it
is 50,000 steps a second, so there the share is bound by what everstep can commit in a second at
all (`benchmarks.steps`).
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import ClassVar

from everstep import Actor, Pool, Runtime, step

from .instrument import main
from .rows import NONE, POWER_CUT, Row, Side, together

__all__ = ["rows"]

THINKING = 0.2
FULL = {100: (5, 10), 1000: (5, 10), 10_000: (3, 3)}
QUICK = {100: (1, 3), 1000: (1, 2)}
"""By tasks at once: repetitions, and how many steps a task takes on average while it is timed."""
AIM = 95


class Count:
    """Holds all tasks in their first step until every one of them is there; counts from then on."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._missing = tasks
        self._left = 0
        self._began = asyncio.Event()
        self._over = asyncio.Event()

    async def think(self) -> str:
        """What each step does."""
        seconds = THINKING
        if self._missing:
            seconds *= self._missing / self._tasks
            self._missing -= 1
            if not self._missing:
                self._began.set()
            await self._began.wait()
        await asyncio.sleep(seconds)
        return "thought"

    def ended(self) -> None:
        """A step has ended, and all that was to be kept of it is kept."""
        self._left -= 1
        if self._left == 0:
            self._over.set()

    async def rate(self, times: int) -> float:
        """Steps a second, while each task takes so many on average."""
        self._left = steps = self._tasks * times
        await self._began.wait()
        at = time.perf_counter()
        await self._over.wait()
        return steps / (time.perf_counter() - at)


class Thinking(Actor, name="benchmarks.Thinking"):
    """Asks a model again and again."""

    count: ClassVar[Count]

    async def run(self) -> None:
        while True:
            await self.think()
            self.count.ended()

    @step
    async def think(self) -> str:
        return await self.count.think()


async def _everstep(file: Path, tasks: int, steps: int) -> float:
    Thinking.count = Count(tasks)
    async with Runtime(file, tree=Pool(max_running=tasks), grace=0) as runtime:
        await runtime.start_many(Thinking() for _ in range(tasks))
        return await Thinking.count.rate(steps)


async def _plain(tasks: int, steps: int) -> float:
    count = Count(tasks)

    async def run() -> None:
        while True:
            await count.think()
            count.ended()

    running = [asyncio.create_task(run()) for _ in range(tasks)]
    rate = await count.rate(steps)
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    return rate


def rows(quick: bool, where: Path) -> list[Row]:
    return [_row(where, tasks, *plan) for tasks, plan in (QUICK if quick else FULL).items()]


def _row(where: Path, tasks: int, times: int, steps: int) -> Row:
    ours: list[float] = []
    plain: list[float] = []
    for _ in range(times):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            ours.append(_run(_everstep(Path(folder) / "models.db", tasks, steps)))
        plain.append(_run(_plain(tasks, steps)))
    side, beside = Side("everstep", POWER_CUT, tuple(ours)), Side("asyncio", NONE, tuple(plain))
    met = side.median >= AIM / 100 * beside.median
    what = f"{together(tasks)} that wait {THINKING * 1000:.0f} ms in each step: steps"
    return Row(what, "steps/s", side, (beside,), f"{AIM} % of asyncio", met)


def _run(measured: Awaitable[float]) -> float:
    async def run() -> float:
        return await measured

    gc.collect()
    return asyncio.run(run())


if __name__ == "__main__":
    main(rows)
