"""Waits whose caller gives them up: the task goes on, and its steps wait for a slot."""

from __future__ import annotations

import asyncio
import contextlib
from typing import ClassVar

from everstep import Actor, Status, step
from tests.runtime.kit import Gate, Place, until
from tests.runtime.pools import pool_of


class Impatient(Actor, name="waits.Impatient"):
    """Stops at the gate in a step, when its wait has been given up."""

    naps: ClassVar[dict[str, asyncio.Task[None]]]
    gate: ClassVar[Gate]

    name: str

    async def run(self) -> None:
        nap = self.naps[self.name] = asyncio.create_task(self.ctx.sleep(5))
        with contextlib.suppress(asyncio.CancelledError):
            await nap
        await self.work()

    @step
    async def work(self) -> None:
        await self.gate.stop_at(self.name)


async def test_of_tasks_that_give_up_their_waits_no_more_are_in_steps_than_there_are_slots(
    place: Place,
) -> None:
    names = "abcde"
    Impatient.naps, Impatient.gate = {}, Gate()
    async with place.runtime(pool={"max_running": 2}) as runtime:
        tasks = [await runtime.start(Impatient(name=name)) for name in names]
        for task in tasks:
            await until(task, lambda info: info.status is Status.WAITING)
        for name in names:
            Impatient.naps[name].cancel()
        for task in tasks:
            await until(task, lambda info: info.status is Status.RUNNING)

        gate = Impatient.gate
        for ended in range(len(names)):
            while len(gate.order) < min(ended + 2, len(names)):
                await asyncio.sleep(0)
            assert len(gate.order) - ended <= 2
            assert pool_of(runtime).info().running <= 2
            gate.open(gate.order[ended])
            await tasks[names.index(gate.order[ended])].result()
