"""A task of five steps with one effect each, in the ways in which an effect can be decided."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.effects import Done, NotDone
from everstep.actors.log import Log
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.supervisor.restart import Restart
from everstep.task import Task
from everstep.testing import Life, boundary, note, noted
from tests.survival.host import living, standing, to_end

__all__ = ["five_flow", "five_plan", "five_settled", "many", "outside"]

Decides = Literal["probe", "retry", "pause"]


async def deliver(what: str, operation: str) -> str:
    """The side effect; the world outside forgets nothing."""
    boundary("between intent and effect")
    note("effect", what=what, operation=operation)
    boundary("between effect and receipt")
    return f"receipt for {what}"


async def was_delivered(operation: str) -> Done[str] | NotDone:
    """The probe: asks the world outside."""
    found = noted("effect", operation=operation)
    return Done(f"receipt for {found[0].facts['what']}") if found else NotDone()


class Five(Actor):
    """What both kinds share: each step does one thing, once, and says so."""

    decides: Decides = "probe"
    whose: str = ""
    done: list[str] = []
    log: Log[str] = Log()

    async def act(self, what: str) -> str:
        note("executed")
        boundary(f"in {what}, before its effect")
        receipt = await self.ctx.once(
            "deliver",
            deliver,
            self.whose + what,
            self.ctx.operation_id("deliver"),
            probe=was_delivered if self.decides == "probe" else None,
            on_unknown="pause" if self.decides == "pause" else "retry",
        )
        self.done.append(what)
        self.log.append(receipt)
        boundary(f"in {what}, after its effect")
        return receipt


class FivePlan(Five):
    steps: ClassVar = ("one", "two", "three", "four", "five")

    @step
    async def one(self) -> str:
        return await self.act("one")

    @step
    async def two(self) -> str:
        return await self.act("two")

    @step
    async def three(self) -> str:
        return await self.act("three")

    @step
    async def four(self) -> str:
        return await self.act("four")

    @step
    async def five(self) -> str:
        return await self.act("five")


class FiveFlow(Five):
    async def run(self) -> list[str]:
        receipts = [await self.deliver_one(what) for what in ("one", "two", "three", "four")]
        return [*receipts, await self.deliver_one("five")]

    @step(key="what")
    async def deliver_one(self, what: str) -> str:
        return await self.act(what)


class OneOfMany(FiveFlow):
    """Dies with its neighbours much more often than it can be to blame."""

    @step(key="what", retry=Retry(1000, backoff=none()))
    async def deliver_one(self, what: str) -> str:
        return await self.act(what)


async def five_plan(life: Life, decides: Decides) -> dict[str, Any]:
    return await _five(life, FivePlan(decides=decides))


async def five_flow(life: Life, decides: Decides) -> dict[str, Any]:
    return await _five(life, FiveFlow(decides=decides))


async def _five(life: Life, actor: Five) -> dict[str, Any]:
    ended = await to_end(life, actor, restart=Restart(3, max_deaths=20))
    return {name: ended[name] for name in ("status", "output", "state")}


async def five_settled(life: Life) -> dict[str, Any]:
    """Without a probe, a person looks into the world outside and decides."""
    async with living(life, restart=Restart(3, max_deaths=20)) as runtime:
        task = await runtime.start(FivePlan(decides="pause"), id="task")
        while (ended := await standing(task))["status"] == "paused":
            await _decide(task)
        return {name: ended[name] for name in ("status", "output", "state")}


async def many(life: Life, count: int) -> list[Any]:
    """A crowd of such tasks at once, their effects decided by a probe."""
    async with living(life, restart=Restart(3, max_deaths=1000)) as runtime:
        tasks = [
            await runtime.start(OneOfMany(decides="probe", whose=f"{n} "), id=f"task-{n}")
            for n in range(count)
        ]
        return [await task.result() for task in tasks]


async def _decide(task: Task[Any]) -> None:
    unknown = [effect for effect in await task.effects() if effect.state == "unknown"]
    assert len(unknown) == 1
    answer = await was_delivered(unknown[0].operation_id)
    note("settled", step=unknown[0].step)
    await task.settle("deliver", answer, by="a person", why="looked")


def outside(history: Any) -> dict[str, int]:
    """How often each effect happened in the world."""
    counts: dict[str, int] = {}
    for fact in history.facts("effect"):
        counts[fact.facts["what"]] = counts.get(fact.facts["what"], 0) + 1
    return counts
