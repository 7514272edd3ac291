"""A schedule whose tasks tell of themselves, and one started by hand."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.step import step
from everstep.storage.errors import TaskEnded
from everstep.supervisor.firings import Overlap
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary
from tests.survival.host import living

__all__ = ["scheduled"]

COUNT = 3


class Listener(Actor):
    """Hears of so many tasks."""

    count: int

    async def run(self) -> list[str]:
        return [await self.ctx.receive(str) for _ in range(self.count)]


class Teller(Actor):
    """Tells of itself, and goes on for a while."""

    nap: float

    @step
    async def tell(self) -> None:
        boundary("before it is told")
        with contextlib.suppress(TaskEnded):
            await self.ctx.send("listener", self.ctx.task_id)

    async def run(self) -> None:
        await self.tell()
        await self.ctx.sleep(self.nap)


async def scheduled(life: Life, every: int, nap: float, overlap: Overlap) -> dict[str, Any]:
    """Live it until enough tasks were heard of; then see that each instant is accounted for."""
    async with living(life, restart=Restart(3, max_deaths=100)) as runtime:
        listener = await runtime.start(Listener(count=COUNT), id="listener")
        beat = await runtime.schedule(
            "beat", every=every, actor=Teller(nap=nap), overlap=overlap, catch_up=1e6
        )
        await beat.trigger(id="once")
        told = await listener.result()
        await beat.pause()

        info = await beat.info()
        ids = [task.id for task in await runtime.tasks(actor=Teller, limit=1000)]
        assert info.next_at is not None
        first = int(info.created_at.timestamp()) + every
        passed = {
            f"beat/{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
            for at in range(first, int(info.next_at.timestamp()), every)
        }
        started = set(ids) - {"beat/manual/once"}
        assert started <= passed, (started, passed)
        assert len(started) == info.fired
        assert info.fired + info.skipped + info.missed + len(info.waiting) == len(passed)
        return {
            "told": len(set(told)),
            "by hand": ids.count("beat/manual/once"),
            "lost": info.skipped + info.missed if overlap == "queue" else 0,
        }
