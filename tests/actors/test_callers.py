"""A step whose caller cancels it."""

from __future__ import annotations

import asyncio

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.exits import Succeeded
from everstep.actors.retry import Retry
from everstep.actors.step import step
from tests.actors.driver import driving

SOON = Retry(max_attempts=3, backoff=none())


async def test_a_caller_is_heard_by_a_step_whose_own_time_limit_has_passed_before() -> None:
    waits = asyncio.Event()

    class Bounded(Actor, name="time.bounded"):
        async def run(self) -> str:
            working = asyncio.create_task(self.work())
            await waits.wait()
            working.cancel()
            await asyncio.wait([working])
            return "cancelled" if working.cancelled() else f"{working.exception()!r}"

        @step(retry=SOON)
        async def work(self) -> None:
            try:
                async with asyncio.timeout(0):
                    await asyncio.Event().wait()
            except TimeoutError:
                waits.set()
            await asyncio.Event().wait()

    async with driving() as driver:
        ledger = await driver.create(Bounded())
        assert await asyncio.wait_for(driver.live(ledger, Bounded), 10) == Succeeded()
        assert await driver.result(ledger, Bounded) == "cancelled"
        assert "step_failed 0/work" not in await driver.kinds(ledger)
