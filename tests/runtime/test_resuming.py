"""A task that is let go on while its cancelled life still cleans up."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from everstep import Actor, Restart, TaskFailed, step
from tests.runtime.kit import ONCE, Gate, Place


class Cleaning(Actor, name="resuming.Cleaning"):
    """Takes its time to clean up when it is cut, the first time."""

    gate: ClassVar[Gate] = Gate()
    begun: ClassVar[list[str]] = []

    async def run(self) -> str:
        return await self.work()

    @step
    async def work(self) -> str:
        self.begun.append("work")
        if len(self.begun) == 1:
            try:
                await self.gate.stop_at("work")
            finally:
                await self.gate.stop_at("cleaning")
        return "done"


async def test_a_task_resumed_while_its_old_life_ends_goes_on_as_soon_as_that_has_ended(
    place: Place,
) -> None:
    gate = Cleaning.gate = Gate()
    Cleaning.begun = []
    async with place.runtime() as runtime:
        task = await runtime.start(Cleaning())
        await gate.until("work")
        assert await task.cancel()
        await gate.until("cleaning")

        assert await task.resume()
        waiter = asyncio.create_task(task.result())
        await task.status()  # a reading of the store, in which the waiter asks too
        assert not waiter.done()
        gate.open("cleaning")

        assert await waiter == "done"  # the clock stands still: nobody waited for a tick
        assert Cleaning.begun == ["work", "work"]


async def test_a_task_that_still_cleans_up_keeps_nobody_else_out(place: Place) -> None:
    gate = Cleaning.gate = Gate()
    Cleaning.begun = []
    async with place.runtime(pool={"max_running": 2}) as runtime:
        task = await runtime.start(Cleaning())
        await gate.until("work")
        assert await task.cancel()
        await gate.until("cleaning")
        assert await task.resume()

        other = await runtime.start(Cleaning())
        assert await other.result() == "done"

        gate.open("cleaning")
        assert await task.result() == "done"


@pytest.mark.parametrize("turns", range(6))
async def test_a_step_whose_failure_nobody_has_heard_is_tried_again_when_its_task_is_resumed(
    place: Place, turns: int
) -> None:
    """Of two that fail so many turns of the loop after each other, `run` is left by the first."""

    class Pair(Actor, name="resuming.Pair"):
        mended: ClassVar[bool] = False

        @step(key="late", retry=ONCE)
        async def work(self, late: int) -> int:
            for _ in range(late):
                await asyncio.sleep(0)
            if not self.mended:
                raise OSError("no way")
            return late

        async def run(self) -> int:
            return sum(await asyncio.gather(self.work(0), self.work(turns + 1)))

    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        task = await runtime.start(Pair())
        with pytest.raises(TaskFailed, match="no way"):
            await task.result()
        Pair.mended = True

        assert await task.resume()
        assert await task.result() == turns + 1
