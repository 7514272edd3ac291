"""Waits whose end is further than a `datetime`, or a number of the store, can tell."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from everstep import Actor, Status
from tests.runtime.kit import Place, until


class ForEver(Actor, name="waits.ForEver"):
    """Waits as long as can be written."""

    how: str

    async def run(self) -> None:
        match self.how:
            case "until":
                await self.ctx.sleep_until(datetime.max.replace(tzinfo=UTC))
            case "for":
                await self.ctx.sleep(timedelta.max)
            case "so many":
                await self.ctx.sleep(2**63)
            case "message":
                await self.ctx.receive(str, timeout=timedelta.max)
            case _:
                await self.ctx.ask_human("Well?", schema=bool, timeout=10**400)


@pytest.mark.parametrize("how", ["until", "for", "so many", "message", "question"])
async def test_a_wait_may_be_for_ever_and_the_task_can_be_looked_at(place: Place, how: str) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(ForEver(how=how))
        await until(task, lambda info: info.status is Status.WAITING)

        info = await task.status()
        assert await runtime.tasks() == [info]
        now = datetime.fromtimestamp(place.clock.now(), UTC)
        last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
        assert info.due_at == (last if how == "until" else now + timedelta(days=36_500))
        assert len(await task.steps()) == 1
        assert len(await runtime.inbox()) == (how == "question")
