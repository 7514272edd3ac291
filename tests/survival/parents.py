"""A parent that starts children one by one, side by side and in a step, and waits for all."""

from __future__ import annotations

from typing import Any, Literal

from everstep.actors.actor import Actor
from everstep.actors.failures import ChildFailed
from everstep.actors.handler import handler
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.storage.records import Status
from everstep.supervisor.restart import Restart
from everstep.task import Task
from everstep.testing import Life, boundary, note
from tests.survival.host import living, standing

__all__ = ["CHILDREN", "forsaken", "offices", "paused_along", "raised"]

CHILDREN = 6


class Leaf(Actor, name="parents.Leaf"):
    number: int

    async def run(self) -> int:
        await self.ctx.sleep(1)
        return await self.double()

    @step(retry=Retry(100, give_up_on=(ValueError,)))
    async def double(self) -> int:
        note("executed")
        boundary(f"in {self.number}")
        if self.number < 0:
            raise ValueError("below nothing")
        return self.number * 2


class Root(Actor, name="parents.Root"):
    @step(retry=Retry(100))
    async def begin(self) -> str:
        child = await self.ctx.start(Leaf(number=1))
        boundary("in begin")
        return child.id

    async def run(self) -> list[Any]:
        one = await self.ctx.start(Leaf(number=2))
        boundary("after start")
        found: list[Any] = [await self.ctx.child(await self.begin(), Leaf).result()]
        found.append(await one.result())
        boundary("after two")
        found += await self.ctx.map(lambda n: Leaf(number=n), [3, 4, 5], limit=2)
        try:
            await (await self.ctx.start(Leaf(number=-1))).result()
        except ChildFailed as failed:
            found.append(failed.failure.message)
        return found


async def raised(life: Life, idle_after: float) -> dict[str, Any]:
    """Live it to its end, and say which children there are and how each ended."""
    restart = Restart(3, max_deaths=1000)
    async with living(life, restart=restart, idle_after=idle_after) as runtime:
        task = await runtime.start(Root(), id="task")
        ended = await standing(task)
        children = await runtime.tasks(parent="task")
        waits = [f"{e.kind} {e.step}" async for e in task.events() if e.kind == "wait_ended"]
        return {
            "output": ended["output"],
            "children": sorted(f"{child.id} {child.status}" for child in children),
            "waits": sorted(waits),
        }


class Forsaker(Actor, name="parents.Forsaker"):
    on_parent: Literal["cancel", "follow"] = "cancel"

    async def run(self) -> None:
        for _ in range(3):
            await self.ctx.start(Sleeper(), on_parent=self.on_parent)
        await self.fail()

    @step(retry=Retry(100, give_up_on=(ValueError,)))
    async def fail(self) -> None:
        boundary("in fail")
        raise ValueError("no more")


class Sleeper(Actor, name="parents.Sleeper"):
    async def run(self) -> None:
        await self.ctx.sleep(10**6)


async def forsaken(life: Life) -> dict[str, Any]:
    """Live it to its failure, and that of its children to their end."""
    async with living(life, restart=Restart(3, max_deaths=1000)) as runtime:
        task = await runtime.start(Forsaker(), id="task")
        ended = await standing(task)
        children = await runtime.tasks(parent="task")
        for child in children:
            async for _ in runtime.task(child.id).events(follow=True):
                pass  # it ends with the task
        children = await runtime.tasks(parent="task")
        return {
            "error": ended["error"],
            "children": sorted(f"{child.id} {child.status}" for child in children),
        }


async def paused_along(life: Life) -> dict[str, Any]:
    """Live it to its pause, and that of its children; then end it, and them with it."""
    restart = Restart(3, max_deaths=1000, on_give_up="pause")
    async with living(life, restart=restart) as runtime:
        task = await runtime.start(Forsaker(on_parent="follow"), id="task")
        await settled(task, Status.PAUSED)
        children = [runtime.task(child.id) for child in await runtime.tasks(parent="task")]
        for child in children:
            await settled(child, Status.PAUSED)
        boundary("all are paused")
        await task.cancel()
        for child in children:
            await settled(child, Status.CANCELLED)
        pauses = [[event.data async for event in child.events()] for child in children]
        return {
            "pauses": [
                [data.get("reason") for data in one].count("parent_paused") for one in pauses
            ]
        }


async def settled(task: Task[Any], status: Status) -> None:
    """Return when the task has this status, or has been cancelled."""
    async for _ in task.events(follow=True):
        if (await task.status()).status in (status, Status.CANCELLED):
            return


class Office(Actor, name="parents.Office"):
    copies: list[str] = []

    @handler(retry=Retry(100))
    async def copy_out(self, text: str) -> str:
        clerk = await self.ctx.start(Clerk(text=text))
        boundary(f"in {text}")
        return clerk.id

    @handler(retry=Retry(100))
    async def done(self, text: str) -> None:
        boundary(f"done {text}")
        self.copies = [*self.copies, text]

    @handler
    async def all(self) -> list[str]:
        return self.copies


class Clerk(Actor, name="parents.Clerk"):
    text: str

    async def run(self) -> str:
        await self.ctx.get(Office, "office").tell(Office.done, self.text)
        return self.text


async def offices(life: Life, idle_after: float) -> dict[str, Any]:
    """Let a server give work to children, which tell it of that; every life asks for all of it."""
    restart = Restart(3, max_deaths=1000)
    async with living(life, restart=restart, idle_after=idle_after) as runtime:
        office = runtime.get(Office, "office")
        given = ("one", "two", "three")
        ids = [await office.ask(Office.copy_out, text, request_id=text) for text in given]
        texts = [await runtime.task(child, Clerk).result() for child in ids]
        children = await runtime.tasks(parent="office")
        return {
            "started": [child.id for child in children] == ids,
            "texts": texts,
            "told": sorted(await office.ask(Office.all)),
        }
