"""Tasks send messages: with the commits of their steps, or not at all."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from everstep import Actor, Retry, StepFailed, TaskEnded, TaskNotFound, step
from tests.runtime.kit import Place, Plain, next_event
from tests.waits.clerks import Clerk, Order


class Sender(Actor, name="messages.Sender"):
    to: str
    crash: ClassVar[list[Exception]] = []

    async def run(self) -> None:
        await self.ctx.send(self.to, Order(number=1))
        await self.in_a_step()
        if self.crash:
            raise self.crash.pop()
        await asyncio.gather(*(self.ctx.send(self.to, Order(number=n)) for n in (4, 5)))

    @step(retry=Retry(3))
    async def in_a_step(self) -> None:
        await self.ctx.send(self.to, Order(number=2))
        if self.ctx.attempt == 1:
            raise ValueError("after a message that is not sent then")
        await self.ctx.send(self.to, Order(number=3))


async def test_a_task_sends_with_the_commits_of_its_steps_and_once(place: Place) -> None:
    Sender.crash = [RuntimeError("in between")]
    async with place.runtime() as runtime:
        clerk = await runtime.start(Clerk(orders=5), id="clerk")
        sender = await runtime.start(Sender(to="clerk"))
        await next_event(sender, "step_failed")
        place.clock.advance(60)
        await sender.result()

        assert await clerk.result() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("to", ["nobody", "ended"])
async def test_a_task_that_sends_to_nobody_is_told(place: Place, to: str) -> None:
    class Careful(Actor, name="messages.Careful"):
        to: str

        async def run(self) -> str:
            try:
                await self.ctx.send(self.to, 1)
            except StepFailed as failed:
                return str((failed.is_a(TaskNotFound), failed.is_a(TaskEnded)))
            return "sent"

    async with place.runtime() as runtime:
        await (await runtime.start(Plain(), id="ended")).result()

        told = await (await runtime.start(Careful(to=to))).result()

    assert told == str((to == "nobody", to == "ended"))


async def test_a_full_mailbox_is_waited_for_by_a_task(place: Place) -> None:
    class Flood(Actor, name="messages.Flood"):
        async def run(self) -> None:
            for number in (1, 2, 3):
                await self.ctx.send("late", Order(number=number))

    class Late(Clerk, name="messages.Late"):
        async def run(self) -> list[int]:
            await self.ctx.sleep(1)
            return await super().run()

    async with place.runtime(mailbox=2) as runtime:
        late = await runtime.start(Late(orders=3), id="late")
        flood = await runtime.start(Flood())
        await next_event(flood, "step_failed")
        for _ in range(8):
            place.clock.advance(0.5)
            await (await runtime.start(Plain())).result()

        await flood.result()
        assert await late.result() == [1, 2, 3]
