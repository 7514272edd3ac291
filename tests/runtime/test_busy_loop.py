"""A task that computes and yields, for ever, starves nobody: the thread that writes gets on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from everstep import Actor, Runtime, step

TURN = 100e-6
"""Seconds of real time that the busy task computes before it yields."""
STEPS = 20


class Going(Actor, name="busy.Going"):
    """Commits one step after the other."""

    done: int = 0

    async def run(self) -> int:
        for _ in range(STEPS):
            await self.work()
        return self.done

    @step
    async def work(self) -> None:
        self.done += 1


async def hog() -> None:
    while True:
        until = time.perf_counter() + TURN
        while time.perf_counter() < until:
            pass
        await asyncio.sleep(0)


@pytest.mark.real
@pytest.mark.timeout(120)
async def test_commits_go_on_beside_a_task_that_never_lets_the_loop_rest(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "busy.db") as runtime:
        busy = asyncio.create_task(hog())
        tasks = [await runtime.start(Going()) for _ in range(20)]

        results = await asyncio.gather(*(task.result() for task in tasks))

        assert results == [STEPS] * len(tasks)
        assert not busy.done()
        busy.cancel()
