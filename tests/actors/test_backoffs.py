"""Where a task only waits out a backoff its row says so, and nowhere else."""

from __future__ import annotations

import asyncio

import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import fixed
from everstep.actors.exits import Succeeded
from everstep.actors.retry import Retry
from everstep.actors.step import step
from tests.actors.driver import Driver, driving

LATER = Retry(max_attempts=5, backoff=fixed(100), jitter="none")


async def due_at(driver: Driver, task_id: str) -> float | None:
    """Until when the store says that the task waits."""
    row = await driver.store.task(task_id)
    assert row is not None
    return row.progress.due_at


async def test_a_task_waits_for_nothing_when_its_only_backoff_was_cancelled_by_its_caller() -> None:
    limits: list[asyncio.Timeout] = []
    on, go = asyncio.Event(), asyncio.Event()

    class Leaving(Actor, name="backoffs.leaving"):
        async def run(self) -> None:
            try:
                async with asyncio.timeout(None) as limit:
                    limits.append(limit)
                    await self.flaky()
            except TimeoutError:
                on.set()
                await go.wait()

        @step(retry=LATER)
        async def flaky(self) -> None:
            raise ValueError("no")

    async with driving() as driver:
        ledger = await driver.create(Leaving())
        life = driver.life(ledger, Leaving)
        living = asyncio.create_task(life.live())
        await driver.clock.until_waiting()
        assert await due_at(driver, ledger.row.id) is not None

        limits[0].reschedule(0)
        await on.wait()
        await ledger.durable()

        assert await due_at(driver, ledger.row.id) is None
        go.set()
        assert await living == Succeeded()


@pytest.mark.parametrize("beside", ["an effect", "a step"])
async def test_a_task_of_which_something_runs_beside_a_backoff_does_not_only_wait(
    beside: str,
) -> None:
    began, go = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        began.set()
        await go.wait()

    class Beside(Actor, name="backoffs.beside"):
        async def run(self) -> None:
            other = self.ctx.once("work", work) if beside == "an effect" else self.works()
            flaky = asyncio.ensure_future(self.flaky())
            await other
            flaky.cancel()
            await asyncio.wait([flaky])

        @step
        async def works(self) -> None:
            await work()

        @step(retry=LATER)
        async def flaky(self) -> None:
            raise ValueError("no")

    async with driving() as driver:
        ledger = await driver.create(Beside())
        life = driver.life(ledger, Beside)
        living = asyncio.create_task(life.live())
        await began.wait()
        await driver.clock.until_waiting()
        await ledger.durable()

        assert await due_at(driver, ledger.row.id) is None

        go.set()
        assert await living == Succeeded()
