"""What a `run` that ends leaves under way begins nothing more, and leaves nothing."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from typing import Any

import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import fixed
from everstep.actors.exits import Crashed, Released, Succeeded
from everstep.actors.failures import StepFailed
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.storage.errors import StaleAttempt, StaleIncarnation
from everstep.storage.records import StepReset
from everstep.testing import ManualClock
from tests.actors.driver import driving
from tests.actors.slow_store import SlowStore

ONCE = Retry(max_attempts=1)
LATER = Retry(max_attempts=5, backoff=fixed(100), jitter="none")


async def test_a_step_in_backoff_begins_no_more_when_run_has_returned() -> None:
    attempts: list[str] = []
    left: list[asyncio.Task[None]] = []
    ended = asyncio.Semaphore(0)

    class Returning(Actor, name="ended_runs.returning"):
        async def run(self) -> str:
            left.append(asyncio.create_task(self.stubborn()))
            left.append(asyncio.create_task(self.flaky()))
            await driver.clock.until_waiting()
            return "done"

        @step
        async def stubborn(self) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.release()
                await asyncio.Event().wait()

        @step(retry=Retry(max_attempts=5, backoff=fixed(0.5), jitter="none"))
        async def flaky(self) -> None:
            attempts.append("flaky")
            raise ValueError("no")

    async with driving() as driver:
        ledger = await driver.create(Returning())
        life = asyncio.create_task(driver.live(ledger, Returning))
        await ended.acquire()  # `run` is over, and another step still cleans up
        driver.clock.advance(0.6)
        await asyncio.gather(left[1], return_exceptions=True)
        driver.clock.advance(1)
        assert await life == Succeeded()
        await asyncio.gather(left[0], return_exceptions=True)
        assert attempts == ["flaky"]


async def test_a_step_in_backoff_begins_no_more_when_its_chapter_has_ended() -> None:
    attempts: list[str] = []
    left: list[asyncio.Task[None]] = []
    on, go = asyncio.Event(), asyncio.Event()

    class Chapters(Actor, name="ended_runs.chapters"):
        second: bool = False

        async def run(self) -> str:
            if not self.second:
                self.second = True
                left.append(asyncio.create_task(self.flaky()))
                await driver.clock.until_waiting()
                return self.ctx.again()
            on.set()
            await go.wait()
            return "done"

        @step(retry=LATER)
        async def flaky(self) -> None:
            attempts.append("flaky")
            if len(attempts) == 1:
                raise ValueError("no")

    async with driving() as driver:
        ledger = await driver.create(Chapters())
        life = asyncio.create_task(driver.live(ledger, Chapters))
        await on.wait()
        driver.clock.advance(100)
        await asyncio.gather(*left, return_exceptions=True)
        go.set()
        assert await life == Succeeded()
        assert attempts == ["flaky"]
        assert "steps_unused" not in await driver.kinds(ledger)


async def test_a_step_in_a_finally_of_run_does_not_hold_up_a_stop() -> None:
    began = asyncio.Event()
    cleaned: list[str] = []

    class Tidy(Actor, name="ended_runs.tidy"):
        async def run(self) -> None:
            try:
                await self.work()
            finally:
                try:
                    await self.tidy()
                finally:
                    cleaned.append("by run itself")

        @step
        async def work(self) -> None:
            began.set()
            await asyncio.Event().wait()

        @step
        async def tidy(self) -> None:
            cleaned.append("by a step")

    async with driving() as driver:
        ledger = await driver.create(Tidy())
        life = driver.life(ledger, Tidy)
        living = asyncio.create_task(life.live())
        await began.wait()
        await life.release(grace=0, cleanup=1)  # the clock stands still: there is no waiting
        ended = await living
        assert isinstance(ended, Released)
        assert not ended.severed
        assert cleaned == ["by run itself"]


async def test_a_step_cancelled_while_its_failure_is_written_leaves_nothing() -> None:
    limits: list[asyncio.Timeout] = []
    seen: list[str] = []

    class Racing(Actor, name="ended_runs.racing"):
        async def run(self) -> None:
            try:
                async with asyncio.timeout(None) as limit:
                    limits.append(limit)
                    await self.fails()
                seen.append("returned")
            except TimeoutError:
                seen.append("cancelled")
            except StepFailed:
                seen.append("failed")
            if len(limits) == 1:
                raise RuntimeError("a crash")

        @step(retry=ONCE)
        async def fails(self) -> None:
            if len(limits) == 1:
                store.hold()
                raise ValueError("no")

    store = SlowStore(ManualClock())
    async with driving(store) as driver:
        ledger = await driver.create(Racing())
        life = asyncio.create_task(driver.live(ledger, Racing))
        await store.waits.wait()
        limits[0].reschedule(0)
        while not seen:
            await asyncio.sleep(0)
        store.let_go()
        ended = await life
        assert isinstance(ended, Crashed)
        await driver.crash(ledger, ended)
        ((_, row),) = await driver.store.steps(ledger.row.key)
        assert (row.outcome, row.attempts, row.open) == (None, 0, 0)

        assert await driver.again(ledger, Racing) == Succeeded()
        assert seen == ["cancelled", "returned"]


async def test_a_life_that_has_ended_leaves_nothing_to_the_collector() -> None:
    class Plain(Actor, name="ended_runs.plain"):
        number: int = 0

        @step
        async def count(self) -> None:
            self.number += 1

        async def run(self) -> int:
            await self.count()
            return self.number

    async with driving() as driver:
        await driver.run(Plain())  # makes what is made once
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                assert await driver.run(Plain()) == Succeeded()
            assert gc.collect() < 20  # less than one object of each
        finally:
            gc.enable()


async def test_a_step_that_was_called_and_is_awaited_after_the_end_is_refused() -> None:
    left: list[Coroutine[Any, Any, None]] = []
    views: list[Any] = []

    class Leaving(Actor, name="ended_runs.leaving"):
        async def run(self) -> None:
            views.append(self)
            left.append(self.work())

        @step
        async def work(self) -> None:
            raise AssertionError("its life is over")

    async with driving() as driver:
        assert await driver.run(Leaving()) == Succeeded()
        with pytest.raises(StaleIncarnation):
            await left[0]
        with pytest.raises(StaleAttempt):
            await views[0].work()
        with pytest.raises(StaleAttempt):
            views[0].ctx.now()


async def test_a_failure_that_is_forgotten_in_the_commit_that_records_it_never_was() -> None:
    class Failing(Actor, name="ended_runs.failing"):
        @step(retry=ONCE)
        async def fail(self) -> None:
            raise ValueError("no")

        async def run(self) -> None:
            await self.fail()

    async with driving() as driver:
        ledger = await driver.create(Failing())
        assert isinstance(await driver.live(ledger, Failing), Crashed)
        [(_, row)] = await driver.store.steps(ledger.row.key)
        assert (row.outcome, row.attempts, row.serial) == ("failed", 1, 1)

        ledger.step(row._replace(serial=2))
        ledger.reset(StepReset(row.task, row.identity, 3))
        await ledger.durable()

        [(_, row)] = await driver.store.steps(ledger.row.key)
        assert (row.outcome, row.attempts, row.serial, row.deaths_seen) == (None, 0, 2, 3)
        assert row.error is None
