"""Tasks that ask each other, and are asked from outside."""

from __future__ import annotations

import contextlib
from typing import Any

from pydantic import BaseModel

from everstep.actors.actor import Actor
from everstep.actors.step import step
from everstep.storage.errors import TaskEnded
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note
from tests.survival.host import living

__all__ = ["ASKERS", "QUESTIONS", "talk"]

ASKERS = ("ann", "bob")
QUESTIONS = 3


class Go(BaseModel):
    pass


class Ask(BaseModel):
    number: int
    asker: str


class Reply(BaseModel):
    square: int


class Squarer(Actor):
    """Answers each question in the commit that counts it."""

    questions: int
    asked: list[str] = []

    async def run(self) -> list[str]:
        for _ in range(self.questions):
            await self.answer(await self.ctx.receive(Ask))
        return sorted(self.asked)

    @step
    async def answer(self, ask: Ask) -> None:
        note("executed")
        self.asked.append(f"{ask.asker} {ask.number}")
        boundary("before the reply")
        await self.ctx.send(ask.asker, Reply(square=ask.number**2))
        boundary("after the reply")


class Asker(Actor):
    """Asks one question after the other, once it is told to."""

    async def run(self) -> list[int]:
        await self.ctx.receive(Go)
        squares: list[int] = []
        for number in range(QUESTIONS):
            await self.ctx.send("squarer", Ask(number=number, asker=self.ctx.task_id))
            squares.append((await self.ctx.receive(Reply, timeout=1000)).square)
            boundary("after a reply")
        return squares


async def talk(life: Life, idle_after: float) -> dict[str, Any]:
    """Live it until all have their answers."""
    restart = Restart(3, max_deaths=100)
    async with living(life, restart=restart, idle_after=idle_after) as runtime:
        count = len(ASKERS) * QUESTIONS
        tasks = [await runtime.start(Squarer(questions=count), id="squarer")]
        tasks += [await runtime.start(Asker(), id=name) for name in ASKERS]
        for asker in tasks[1:]:
            with contextlib.suppress(TaskEnded):
                await asker.send(Go(), id="go")
        return {task.id: await task.result() for task in tasks}
