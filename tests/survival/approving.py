"""Tasks that ask a person, who answers in every life what is open then."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from pydantic import BaseModel

from everstep.actors.actor import Actor
from everstep.actors.step import step
from everstep.errors import AlreadyAnswered, NotAsked
from everstep.runtime import Runtime
from everstep.supervisor.restart import Restart
from everstep.task import Task
from everstep.testing import Life, boundary, note
from tests.survival.host import living

__all__ = ["approve"]


class Verdict(BaseModel):
    number: int
    fine: bool


class Careful(Actor):
    """Asks twice, one question after the other, and does what it may in between."""

    async def run(self) -> list[str]:
        said: list[str] = []
        for number in (1, 2):
            verdict = await self.ctx.ask_human(f"{number}?", schema=Verdict)
            boundary("after an answer")
            said.append(await self.act(f"{verdict.number} {verdict.fine}"))
        return said

    @step
    async def act(self, what: str) -> str:
        note("executed")
        boundary(f"in {what}")
        return what


async def approve(life: Life, idle_after: float) -> dict[str, Any]:
    """Live it until all that was asked is answered."""
    restart = Restart(3, max_deaths=100)
    async with living(life, restart=restart, idle_after=idle_after) as runtime:
        tasks = [await runtime.start(Careful(), id=name) for name in ("one", "other")]
        answering = asyncio.create_task(_answer_all(runtime, tasks))
        said = {task.id: await task.result() for task in tasks}
        await answering
        return said


async def _answer_all(runtime: Runtime, tasks: list[Task[Any]]) -> None:
    for task in tasks:
        async for event in task.events(follow=True):
            if event.kind in ("wait_started", "task_claimed"):
                for question in await runtime.inbox():
                    with contextlib.suppress(NotAsked, AlreadyAnswered):
                        number = int(question.prompt.rstrip("?"))
                        answer = Verdict(number=number, fine=number == 1)
                        await runtime.task(question.task_id).answer(question.id, answer)
