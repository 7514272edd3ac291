"""The same task without any durability: three coroutines in a row, in as many lanes.

What everstep takes above it is the price of durability, and of all that watches over a task.
"""

from __future__ import annotations

import asyncio
import gc
import time

from .workload import STEPS, Ran

__all__ = ["run"]


class _Plan:
    def __init__(self, number: int) -> None:
        self.number = number
        self.loaded = False

    async def load(self) -> dict[str, int]:
        self.loaded = True
        return {"rows": 3}

    async def work(self) -> dict[str, int]:
        return {"rows": 2}

    async def save(self) -> dict[str, int]:
        return {"rows": 1}

    async def run(self) -> dict[str, int]:
        await self.load()
        await self.work()
        return await self.save()


async def _run(at_once: int, tasks: int) -> tuple[float, float]:
    began, burned = time.perf_counter(), time.process_time()
    await _lanes(at_once, tasks)
    return time.perf_counter() - began, time.process_time() - burned


async def _lanes(at_once: int, tasks: int) -> None:
    numbers = iter(range(tasks))

    async def lane() -> None:
        for number in numbers:
            await asyncio.create_task(_Plan(number).run())

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(lane())


def run(at_once: int, tasks: int) -> Ran:
    """Run `tasks` tasks, `at_once` at a time."""
    gc.collect()
    seconds, cpu = asyncio.run(_run(at_once, tasks))
    return Ran(tasks * STEPS, seconds, cpu, [])
