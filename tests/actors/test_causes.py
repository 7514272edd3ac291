"""Who ended an attempt is told by what was asked for, whatever exception comes out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.exits import Succeeded
from everstep.actors.retry import Retry
from everstep.actors.step import step
from tests.actors.driver import driving

ONCE = Retry(max_attempts=1)
SOON = Retry(max_attempts=3, backoff=none())


def in_a_circle() -> BaseException:
    """A cancellation whose chain leads back to itself, as stored errors do that are raised anew."""
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one
    cancelled = asyncio.CancelledError("cleaning up")
    cancelled.__cause__ = one
    return cancelled


def for_a_reason() -> BaseException:
    """A new cancellation with a cause of its own: the one that was asked for is its context."""
    cancelled = asyncio.CancelledError("cleaning up")
    cancelled.__cause__ = RuntimeError("the reason")
    return cancelled


@pytest.mark.parametrize("made", [in_a_circle, for_a_reason])
async def test_a_step_cancelled_by_its_caller_may_raise_a_chain_of_any_form(
    made: Callable[[], BaseException],
) -> None:
    executed: list[str] = []

    class Racing(Actor, name="causes.racing"):
        async def run(self) -> str:
            try:
                async with asyncio.timeout(None) as limit:
                    await self.slow(limit)
            except TimeoutError:
                return "cancelled"
            return "never"

        @step(retry=SOON)
        async def slow(self, limit: asyncio.Timeout) -> None:
            executed.append("slow")
            limit.reschedule(0)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise made()  # noqa: B904  (its own chain is what is tested)

    async with driving() as driver:
        ledger = await driver.create(Racing())
        assert await driver.live(ledger, Racing) == Succeeded()
        assert await driver.result(ledger, Racing) == "cancelled"
        assert executed == ["slow"]
        ((_, row),) = await driver.store.steps(ledger.row.key)
        assert (row.attempts, row.outcome) == (0, None)


async def fails() -> None:
    raise ValueError("of the group")


@pytest.mark.parametrize("where", ["run", "step"])
async def test_a_time_limit_after_a_group_that_failed_is_an_attempt_that_is_tried_again(
    where: str,
) -> None:
    began = asyncio.Semaphore(0)
    attempts: list[int] = []

    async def survive_a_group() -> None:
        with pytest.raises(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(fails())

    class Grouping(Actor, name="causes.grouping"):
        async def run(self) -> str:
            if where == "run":
                await survive_a_group()
                return await self.slow()
            return await self.outer()

        @step(retry=ONCE)
        async def outer(self) -> str:
            await survive_a_group()
            return await self.slow()

        @step(retry=SOON, timeout=5)
        async def slow(self) -> str:
            attempts.append(self.ctx.attempt)
            if self.ctx.attempt == 1:
                began.release()
                await asyncio.Event().wait()
            return "in time"

    async with driving() as driver:
        ledger = await driver.create(Grouping())
        life = asyncio.create_task(driver.live(ledger, Grouping))
        await began.acquire()
        driver.clock.advance(5)
        assert await life == Succeeded()
        assert await driver.result(ledger, Grouping) == "in time"
        assert attempts == [1, 2]


async def test_max_elapsed_follows_the_time_that_passed_and_not_the_wall_clock() -> None:
    attempts: list[int] = []

    class Elapsing(Actor, name="causes.elapsing"):
        @step(retry=Retry(max_attempts=5, backoff=none(), max_elapsed=600))
        async def work(self) -> str:
            attempts.append(self.ctx.attempt)
            if self.ctx.attempt == 1:
                driver.clock.jump(3600)
                raise ValueError("once")
            if self.ctx.attempt == 2:
                driver.clock.jump(-7200)
                raise ValueError("twice")
            driver.clock.advance(601)
            raise ValueError("after its time")

    async with driving() as driver:
        ended = await driver.run(Elapsing())
        assert not isinstance(ended, Succeeded)
        assert attempts == [1, 2, 3]
