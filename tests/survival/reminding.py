"""Tasks whose questions are answered only when called to mind often; steps that wait for a yes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.failures import Rejected
from everstep.actors.step import step
from everstep.errors import AlreadyAnswered, NotAsked
from everstep.inbox import Question
from everstep.runtime import Runtime
from everstep.supervisor.restart import Restart
from everstep.task import Task
from everstep.testing import Life, boundary, note, noted
from tests.survival.host import living

__all__ = ["agree", "hesitate"]

_PATIENT = Restart(3, max_deaths=100)


class Forgotten(Actor, name="survival.Forgotten"):
    """Asks, and does something with the answer."""

    every: float

    @step
    async def act(self) -> str:
        note("executed")
        boundary("acting")
        return "done"

    async def run(self) -> str:
        answer = await self.ctx.ask_human("Well?", schema=int, remind=self.every)
        boundary("after the answer")
        return f"{answer} {await self.act()}"


class Obedient(Actor, name="survival.Obedient"):
    """Two steps side by side that wait for a yes, then one that hears a no."""

    @step(approval="Do {what}?", key="what")
    async def act(self, what: str) -> str:
        note("executed")
        assert noted("said", step=f"act:{what}", yes=True), what
        boundary(f"in {what}")
        return what

    async def act_if(self, what: str) -> str:
        try:
            return await self.act(what)
        except Rejected as no:
            boundary("after a no")
            return f"{no.by} forbids {what}"

    async def run(self) -> list[str]:
        both = await asyncio.gather(self.act("this"), self.act("that"))
        boundary("after both")
        return [*both, await self.act_if("harm")]


async def hesitate(life: Life, every: float, count: int, idle_after: float) -> dict[str, Any]:
    """Live it until all are answered, each after so many reminders."""

    async def answer(task: Task[Any], question: Question) -> None:
        if question.reminders >= count:
            await task.answer(question.id, 7)

    return await _lived(life, idle_after, lambda: Forgotten(every=every), answer)


async def agree(life: Life, idle_after: float) -> dict[str, Any]:
    """Live it until all that was asked is answered; what was said is noted before it is said."""

    async def answer(task: Task[Any], question: Question) -> None:
        yes = question.step != "act:harm"
        note("said", task=task.id, step=question.step, yes=yes)
        await task.answer(question.id, yes, by="Ada")

    return await _lived(life, idle_after, Obedient, answer)


async def _lived(
    life: Life,
    idle_after: float,
    make: Callable[[], Actor],
    answer: Callable[[Task[Any], Question], Any],
) -> dict[str, Any]:
    async with living(life, restart=_PATIENT, idle_after=idle_after) as runtime:
        tasks = [await runtime.start(make(), id=name) for name in ("one", "other")]
        answering = [asyncio.create_task(_answers(runtime, task, answer)) for task in tasks]
        results = {task.id: await task.result() for task in tasks}
        await asyncio.gather(*answering)
        for task in tasks:
            await _noted_waits(task)
        return results


async def _answers(
    runtime: Runtime, task: Task[Any], answer: Callable[[Task[Any], Question], Any]
) -> None:
    async for event in task.events(follow=True):
        if event.kind in ("wait_started", "wait_reminded", "task_claimed"):
            for question in await runtime.inbox():
                if question.task_id == task.id:
                    with contextlib.suppress(NotAsked, AlreadyAnswered):
                        await answer(task, question)


async def _noted_waits(task: Task[Any]) -> None:
    """Note what the log tells of the waits."""
    async for event in task.events():
        if event.kind.startswith("wait_"):
            at, count = event.at.timestamp(), event.data.get("reminders")
            note("told", task=task.id, what=event.kind, step=event.step, at=at, count=count)
