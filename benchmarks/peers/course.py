"""The course that each runtime runs: so many tasks of three steps, so many of them at once.

    python -m benchmarks.peers.on_dbos FOLDER AT_ONCE TASKS

Lanes each start a task, wait for its end, and start the next. Prints one line of JSON: the fields
of `Took`. Uses the standard library only.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["STEPS", "Course", "Took", "given", "tell"]

STEPS = 3
"""Of each task. Each returns a small dict, and is durable before the next begins."""


@dataclass(frozen=True, slots=True)
class Took:
    """What one run of the course took."""

    steps: int
    seconds: float
    cpu: float
    """CPU seconds of the process."""
    tasks: list[float]
    """Seconds of each task, from its start to its end."""


@dataclass(frozen=True, slots=True)
class Course:
    folder: Path
    """Where the runtime may keep its files."""
    at_once: int
    tasks: int

    async def run(self, task: Callable[[int], Awaitable[object]]) -> Took:
        """Run the task with one number after the other; before that once, that all be ready."""
        await task(-1)
        numbers, taken = iter(range(self.tasks)), list[float]()

        async def lane() -> None:
            for number in numbers:
                began = time.perf_counter()
                await task(number)
                taken.append(time.perf_counter() - began)

        began, burned = time.perf_counter(), time.process_time()
        await asyncio.gather(*(lane() for _ in range(self.at_once)))
        seconds, cpu = time.perf_counter() - began, time.process_time() - burned
        return Took(self.tasks * STEPS, seconds, cpu, taken)


def given() -> Course:
    """The course that the command line names."""
    folder, at_once, tasks = sys.argv[1:]
    return Course(Path(folder), int(at_once), int(tasks))


def tell(took: Took) -> None:
    print(json.dumps(asdict(took)))
