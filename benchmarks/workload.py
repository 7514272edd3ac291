"""The task that is measured: a plan of three steps that do nothing, one of which changes a field.

`N` lanes each start a task, wait for its result, and start the next, until all tasks are through.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from everstep import Actor, Pool, Runtime, step

__all__ = ["PATIENT", "STEPS", "Ran", "run", "tuned_collector"]

STEPS = 3
PATIENT = (50_000, 20, 100)
"""Thresholds with which the garbage collector looks at what is in memory less often."""

_bodies: list[tuple[int, float]] = []
"""(number of the task, instant) at which the body of each step ran."""


class Noop(Actor, name="bench.noop"):
    number: int
    loaded: bool = False

    @step
    async def load(self) -> dict[str, int]:
        _bodies.append((self.number, time.perf_counter()))
        self.loaded = True
        return {"rows": 3}

    @step
    async def work(self) -> dict[str, int]:
        _bodies.append((self.number, time.perf_counter()))
        return {"rows": 2}

    @step
    async def save(self) -> dict[str, int]:
        _bodies.append((self.number, time.perf_counter()))
        return {"rows": 1}


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run of everstep took."""

    steps: int
    seconds: float
    cpu: float
    """CPU seconds of the whole process, the writing thread included."""
    latencies: list[float]
    """Seconds from the body of a step to the body of the next: its checkpoint, durable."""


async def _lanes(runtime: Runtime, at_once: int, tasks: int) -> None:
    numbers = iter(range(tasks))

    async def lane() -> None:
        for number in numbers:
            task = await runtime.start(Noop(number=number))
            await task.result()

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(lane())


async def _run(file: Path, at_once: int, tasks: int) -> tuple[float, float]:
    async with Runtime(file, tree=Pool(max_running=max(2 * at_once, 1000))) as runtime:
        await (await runtime.start(Noop(number=-1))).result()  # all is imported and ready
        _bodies.clear()
        began, burned = time.perf_counter(), time.process_time()
        await _lanes(runtime, at_once, tasks)
        return time.perf_counter() - began, time.process_time() - burned


def run(file: Path, at_once: int, tasks: int) -> Ran:
    """Run `tasks` tasks, `at_once` at a time, on a new file at full durability."""
    gc.collect()
    seconds, cpu = asyncio.run(_run(file, at_once, tasks))
    latencies: list[float] = []
    newest: dict[int, float] = {}
    for number, instant in _bodies:
        if number in newest:
            latencies.append(instant - newest[number])
        newest[number] = instant
    _bodies.clear()
    return Ran(tasks * STEPS, seconds, cpu, latencies)


@contextmanager
def tuned_collector() -> Generator[None]:
    """With what the guide advises a program of many tasks to say to the garbage collector."""
    gc.collect()
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*PATIENT)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
