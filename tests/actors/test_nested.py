"""Steps below steps: found again, counted on, and ended with the step above."""

from __future__ import annotations

import asyncio

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.exits import Crashed, Succeeded
from everstep.actors.retry import Retry
from everstep.actors.step import step
from tests.actors.driver import driving

ONCE = Retry(max_attempts=1)
SOON = Retry(max_attempts=3, backoff=none())


async def test_attempts_of_an_inner_step_are_counted_over_attempts_of_the_outer_one() -> None:
    executed: list[str] = []
    hangs = asyncio.Semaphore(0)

    class Timing(Actor, name="nested.timing"):
        async def run(self) -> str:
            return await self.outer()

        @step(retry=SOON, timeout=5)
        async def outer(self) -> str:
            await self.inner()
            return "done"

        @step(retry=SOON)
        async def inner(self) -> None:
            executed.append(f"inner {self.ctx.attempt}")
            if len(executed) == 1:
                raise ValueError("once")
            if len(executed) == 2:
                hangs.release()
                await asyncio.Event().wait()

    async with driving() as driver:
        ledger = await driver.create(Timing())
        life = asyncio.create_task(driver.live(ledger, Timing))
        await hangs.acquire()
        driver.clock.advance(5)
        assert await life == Succeeded()
        assert executed == ["inner 1", "inner 2", "inner 2"]


async def test_a_sibling_that_still_runs_ends_with_the_step_above_that_failed() -> None:
    executed: list[str] = []

    class Gathering(Actor, name="nested.gathering"):
        async def run(self) -> str:
            return await self.outer()

        @step(retry=SOON)
        async def outer(self) -> str:
            await asyncio.gather(self.fails(), self.slow())
            return "done"

        @step(retry=ONCE)
        async def fails(self) -> None:
            executed.append("fails")
            await asyncio.sleep(0)
            if executed.count("fails") == 1:
                raise ValueError("once")

        @step(retry=SOON)
        async def slow(self) -> None:
            executed.append("slow")
            try:
                if executed.count("slow") == 1:
                    await asyncio.Event().wait()
            finally:
                executed.append("slow ended")

    async with driving() as driver:
        ledger = await driver.create(Gathering())
        assert await driver.live(ledger, Gathering) == Succeeded()
        slow = [what for what in executed if what.startswith("slow")]
        assert slow == ["slow", "slow ended"] * 2
        assert executed.count("fails") == 2
        rows = {row.name: row for _, row in await driver.store.steps(ledger.row.key)}
        assert (rows["slow"].attempts, rows["slow"].outcome) == (1, "completed")
        assert "step_cut outer/slow" in await driver.kinds(ledger)


async def test_a_step_in_backoff_begins_no_more_when_the_step_above_has_ended() -> None:
    executed: list[str] = []

    class Backing(Actor, name="nested.backing"):
        async def run(self) -> str:
            return await self.outer()

        @step(retry=ONCE)
        async def outer(self) -> str:
            await asyncio.gather(self.fails(), self.retried())
            return "never"

        @step(retry=ONCE)
        async def fails(self) -> None:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            raise ValueError("gone")

        @step(retry=Retry(max_attempts=3))
        async def retried(self) -> None:
            executed.append("retried")
            raise ValueError("again")

    async with driving() as driver:
        ledger = await driver.create(Backing())
        ended = await driver.live(ledger, Backing)
        assert isinstance(ended, Crashed)
        driver.clock.advance(100)
        await asyncio.sleep(0)
        assert executed == ["retried"]


async def test_a_step_that_the_outer_one_left_running_ends_with_its_checkpoint() -> None:
    ended: list[str] = []

    class Leaving(Actor, name="nested.leaving"):
        _left: asyncio.Task[None] | None = None

        async def run(self) -> str:
            return await self.outer()

        @step
        async def outer(self) -> str:
            self._left = asyncio.create_task(self.left())
            await asyncio.sleep(0)
            return "done"

        @step
        async def left(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("left")

    async with driving() as driver:
        ledger = await driver.create(Leaving())
        assert await driver.live(ledger, Leaving) == Succeeded()
        assert ended == ["left"]
