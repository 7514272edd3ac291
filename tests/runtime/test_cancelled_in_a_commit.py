"""An operator's cancel while a checkpoint of the task is on its way to the disk."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from everstep import Actor, Runtime, Status, Task, TaskCancelled, step
from everstep.testing import ManualClock
from tests.actors.slow_store import SlowStore
from tests.runtime.kit import Gate, kinds, next_event


class Ending(Actor, name="cancelled.Ending"):
    """Does something after its only step: it returns, raises, tells, starts again, goes on."""

    gate: ClassVar[Gate]
    went_on: ClassVar[list[str]] = []

    then: str

    @step
    async def last(self) -> None:
        await self.gate.stop_at("last")

    @step
    async def more(self) -> None:
        self.went_on.append("more")

    async def run(self) -> object:
        await self.last()
        self.went_on.append("run")
        if self.then == "raise":
            raise ValueError("no paper")
        if self.then == "tell":
            self.ctx.emit("told")
        if self.then == "again":
            return self.ctx.again()
        if self.then == "step":
            await self.more()
        return None


async def fenced(task: Task[object]) -> None:
    """Return when its present life may write no more."""
    session = task._session()  # pyright: ignore[reportPrivateUsage]
    life = session.pools.life((await session.row(task.id)).key)
    assert life is not None and life.incarnation is not None
    while not life.incarnation.is_fenced:
        await asyncio.sleep(0)


@pytest.mark.parametrize("then", ["return", "raise", "tell", "again", "step"])
async def test_a_cancel_that_was_acknowledged_is_the_end(then: str) -> None:
    clock = ManualClock()
    store = SlowStore(clock)
    Ending.gate, Ending.went_on = Gate(), []
    async with Runtime(":memory:", store=store, clock=clock, grace=0) as runtime:
        task = await runtime.start(Ending(then=then))
        await next_event(task, "step_started")
        store.hold()
        Ending.gate.open("last")
        await store.waits.wait()
        cancelling = asyncio.create_task(task.cancel())
        await fenced(task)
        store.let_go()

        assert await cancelling
        with pytest.raises(TaskCancelled):
            await task.result()
        assert (await task.status()).status is Status.CANCELLED
        assert (await kinds(task))[-1] == "task_cancelled"
        assert Ending.went_on == []
    store.discard()
