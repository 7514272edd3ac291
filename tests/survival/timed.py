"""A task that sleeps between its steps, alone and side by side."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.step import step
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note
from tests.survival.host import living, standing

__all__ = ["timed"]


class Timed(Actor):
    scale: float

    @step(key="what")
    async def act(self, what: str) -> str:
        note("executed")
        boundary(f"in {what}")
        return what

    async def sleep(self, name: str, seconds: float) -> str:
        await self.ctx.sleep(seconds * self.scale, key=name)
        note("woke", wait=f"ctx.sleep:{name}")
        boundary(f"after {name}")
        return await self.act(f"after {name}")

    async def run(self) -> list[str]:
        done = [await self.act("first"), await self.sleep("short", 5), await self.sleep("long", 60)]
        done += await asyncio.gather(*(self.sleep(f"{n} s", n) for n in (5, 50, 500)))
        await self.ctx.sleep_until(self.ctx.now() + timedelta(seconds=100 * self.scale))
        note("woke", wait="ctx.sleep_until")
        return done


async def timed(life: Life, scale: float, idle_after: float) -> dict[str, Any]:
    """Live it to its end, and say which waits its log tells of."""
    restart = Restart(3, max_deaths=100)
    async with living(life, restart=restart, idle_after=idle_after) as runtime:
        task = await runtime.start(Timed(scale=scale), id="task")
        ended = await standing(task)
        waits = [f"{e.kind} {e.step}" async for e in task.events() if e.kind.startswith("wait_")]
        return {"status": ended["status"], "output": ended["output"], "waits": sorted(waits)}
