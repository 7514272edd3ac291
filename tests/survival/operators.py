"""What a person does to a task, in lives that may end meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note, noted
from tests.survival.host import living, standing

__all__ = ["Endless", "cancels", "resumes"]

_PATIENT = Restart(0, max_deaths=1000)


class Mendable(Actor):
    """The second of three steps fails until somebody has mended the world."""

    done: list[str] = []

    @step
    async def load(self) -> None:
        note("executed")
        self.done.append("load")

    @step(retry=Retry(2, backoff=none()))
    async def work(self) -> None:
        note("executed")
        boundary("at work")
        if not noted("mended"):
            raise ValueError("broken")
        self.done.append("work")

    @step
    async def publish(self) -> list[str]:
        note("executed")
        self.done.append("publish")
        return self.done


async def resumes(life: Life) -> dict[str, Any]:
    """Each time the task has failed, mend what is broken and resume it."""
    async with living(life, restart=_PATIENT) as runtime:
        task = await runtime.start(Mendable(), id="task")
        while (ended := await standing(task))["status"] == "failed":
            if not noted("mended"):
                note("mended")
            boundary("about to resume")
            await task.resume(by="a person", why="mended")
        return {name: ended[name] for name in ("status", "output", "state")}


class Endless(Actor):
    @step(retry=Retry(1000, backoff=none()))
    async def wait(self) -> None:
        note("executed")
        await asyncio.get_running_loop().create_future()


async def cancels(life: Life) -> dict[str, Any]:
    """Cancel the task as soon as its step runs; for the second time where that had been done."""
    async with living(life, restart=_PATIENT) as runtime:
        task = await runtime.start(Endless(), id="task")
        async for event in task.events(follow=True):
            if event.kind == "step_started":
                break
        boundary("about to cancel")
        await task.cancel(by="a person")
        kinds = [event.kind async for event in task.events()]
        info = await task.status()
        return {"status": str(info.status), "cancelled": kinds.count("task_cancelled")}
