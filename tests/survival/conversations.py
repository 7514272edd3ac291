"""Little conversations as data: actors that hold them, and what each of them must hear.

A conversation is one order in which everything could happen: so nobody waits for ever. Each actor
has its own part of it, and hears from each other one what that one has said, in its order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from everstep.actors.actor import Actor
from everstep.actors.step import step
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note
from tests.survival.host import living

__all__ = ["NAMES", "Line", "What", "converse", "heard"]

What = Literal["say", "say in a step", "hear", "sleep"]
NAMES = ("ann", "bob", "cid")


class FromAnn(BaseModel):
    number: int


class FromBob(BaseModel):
    number: int


class FromCid(BaseModel):
    number: int


KINDS: dict[str, type[FromAnn | FromBob | FromCid]] = {
    "ann": FromAnn,
    "bob": FromBob,
    "cid": FromCid,
}


@dataclass(frozen=True)
class Line:
    """What one of them does next."""

    who: str
    what: What
    whom: str = ""
    seconds: float = 0.0


class Talker(Actor):
    lines: list[Line]
    said: int = 0

    async def run(self) -> list[str]:
        name, heard = self.ctx.task_id, list[str]()
        for line in self.lines:
            boundary("between two lines")
            match line.what:
                case "say":
                    self.said += 1
                    await self.ctx.send(line.whom, KINDS[name](number=self.said))
                case "say in a step":
                    await self.say(line.whom)
                case "hear":
                    heard.append(f"{line.whom} {(await self.hear(line.whom)).number}")
                case "sleep":
                    await self.ctx.sleep(line.seconds)
        return heard

    async def hear(self, whom: str) -> FromAnn | FromBob | FromCid:
        return await self.ctx.receive(KINDS[whom])

    @step
    async def say(self, whom: str) -> None:
        note("executed")
        self.said += 1
        await self.ctx.send(whom, KINDS[self.ctx.task_id](number=self.said))
        boundary("said in a step")


def heard(lines: list[Line]) -> dict[str, list[str]]:
    """What each of them hears."""
    said: dict[str, int] = dict.fromkeys(NAMES, 0)
    under_way: dict[tuple[str, str], list[int]] = {}
    hears: dict[str, list[str]] = {name: [] for name in NAMES}
    for line in lines:
        if line.what in ("say", "say in a step"):
            said[line.who] += 1
            under_way.setdefault((line.who, line.whom), []).append(said[line.who])
        elif line.what == "hear":
            number = under_way[line.whom, line.who].pop(0)
            hears[line.who].append(f"{line.whom} {number}")
    return hears


async def converse(life: Life, lines: list[Line], idle_after: float) -> dict[str, Any]:
    """Live it until everybody is done; what each of them has heard."""
    restart = Restart(3, max_deaths=1000)
    async with living(life, restart=restart, idle_after=idle_after) as runtime:
        for name in reversed(NAMES):
            part = [line for line in lines if line.who == name]
            await runtime.start(Listener(lines=part), id=name)
        return {name: await runtime.task(name).result() for name in NAMES}


class Listener(Talker):
    """One who waits before the first word until all are there to hear it."""

    async def run(self) -> list[str]:
        await self.ctx.sleep(1)
        return await super().run()
