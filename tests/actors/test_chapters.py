"""The chapters of one life count as one."""

from __future__ import annotations

import pytest

from everstep.actors.actor import Actor
from everstep.actors.exits import Succeeded
from everstep.actors.step import step
from tests.actors.driver import driving


@pytest.mark.parametrize("chapters", [1, 7])
async def test_running_long_enough_clears_the_crashes_of_a_flow_of_any_chapters(
    chapters: int,
) -> None:
    class Long(Actor, name="chapters.long"):
        done: int = 0

        async def run(self) -> str:
            while self.done < 6:
                await self.work(self.done)
                if chapters > 1:
                    return self.ctx.again()
            return "done"

        @step
        async def work(self, number: int) -> None:
            self.done = number + 1
            driver.clock.advance(200)

    async with driving() as driver:
        ledger = await driver.create(Long())
        ledger.change(crashes=1)
        await ledger.durable()
        assert await driver.live(ledger, Long) == Succeeded()
        assert ledger.progress.crashes == 0
        assert ledger.progress.chapter == chapters
