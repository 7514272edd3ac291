"""Plain functions in threads: begun for somebody, and kept apart from the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import ClassVar

import pytest

from everstep.actors.actor import Actor
from everstep.actors.exits import Crashed, Succeeded
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.actors.threads import Threads
from tests.actors.driver import driving

ONCE = Retry(max_attempts=1)


@pytest.fixture
async def single() -> AsyncIterator[Threads]:
    """One thread for everybody."""
    threads = Threads(most=1)
    yield threads
    threads.close()


async def test_a_function_whose_caller_is_gone_does_not_begin(single: Threads) -> None:
    go = threading.Event()
    begun: list[str] = []
    busy = single.start(lambda: go.wait(10))
    gone = asyncio.create_task(single.run(lambda: begun.append("gone")))
    stays = asyncio.create_task(single.run(lambda: begun.append("stays")))
    await asyncio.sleep(0)

    gone.cancel()
    await asyncio.wait([gone])
    go.set()
    await busy
    await stays

    assert begun == ["stays"]


async def test_only_what_has_not_begun_can_be_withdrawn(single: Threads) -> None:
    began, go = threading.Event(), threading.Event()

    def work() -> str:
        began.set()
        go.wait(10)
        return "done"

    running, waiting = single.start(work), single.start(work)
    await asyncio.to_thread(began.wait, 10)

    assert not single.withdraw(running)
    assert single.withdraw(waiting)
    go.set()

    assert await running == "done"
    assert not waiting.done()


async def test_a_plain_function_that_returns_a_coroutine_has_it_awaited_on_the_loop() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def charge(amount: int) -> str:
        loops.append(asyncio.get_running_loop())
        return f"paid {amount}"

    class Lambdas(Actor, name="threads.lambdas"):
        async def run(self) -> str:
            one = await self.ctx.once("pay", lambda: charge(1))
            other = await self.ctx.step(lambda: charge(2), name="other")
            return f"{one}, {other}"

    async with driving() as driver:
        ledger = await driver.create(Lambdas())
        assert await driver.live(ledger, Lambdas) == Succeeded()
        assert await driver.result(ledger, Lambdas) == "paid 1, paid 2"
        assert loops == [asyncio.get_running_loop()] * 2


class Crossing(Actor, name="threads.crossing"):
    """A plain step that awaits something of its task from its thread."""

    loop: ClassVar[asyncio.AbstractEventLoop]

    how: str

    async def run(self) -> str:
        return await self.outer()

    @step(retry=ONCE)
    def outer(self) -> str:
        if self.how == "a step on the loop of the task":
            return asyncio.run_coroutine_threadsafe(self.inner(), self.loop).result(10)
        if self.how == "a step on another loop":
            return asyncio.run(self._await_inner())
        return asyncio.run(self._await_once())

    @step(retry=ONCE)
    async def inner(self) -> str:
        return "inner"

    async def _await_inner(self) -> str:
        return await self.inner()

    async def _await_once(self) -> str:
        return await self.ctx.once("key", self._await_inner)


async def test_a_thread_may_await_a_step_on_the_loop_of_its_task() -> None:
    Crossing.loop = asyncio.get_running_loop()
    async with driving() as driver:
        crossing = Crossing(how="a step on the loop of the task")
        ledger = await driver.create(crossing)
        assert await driver.live(ledger, Crossing) == Succeeded()
        assert await driver.result(ledger, Crossing) == "inner"


@pytest.mark.parametrize("how", ["a step on another loop", "an effect on another loop"])
async def test_what_is_awaited_on_another_loop_is_refused_with_what_to_write(how: str) -> None:
    async with driving() as driver:
        ended = await driver.run(Crossing(how=how))
        assert isinstance(ended, Crashed)
        said = "step='outer': awaits something of its task on another event loop; write it as async"
        assert said in ended.failure.message
        assert "run_coroutine_threadsafe" in ended.failure.message


@pytest.mark.parametrize("limit", ["timeout", "heartbeat"])
async def test_the_time_for_a_thread_to_be_free_is_not_the_time_of_the_attempt(limit: str) -> None:
    class Waits(Actor, name=f"threads.waits.{limit}"):
        @step(
            retry=ONCE,
            timeout=5 if limit == "timeout" else None,
            heartbeat=5 if limit == "heartbeat" else None,
        )
        def work(self) -> str:
            began.set()
            go.wait(10)
            return "done"

    began, go, free = threading.Event(), threading.Event(), threading.Event()
    async with driving() as driver:
        threads = driver.environment.threads = Threads(most=1)
        busy = threads.start(lambda: free.wait(10))
        ledger = await driver.create(Waits())
        life = asyncio.create_task(driver.live(ledger, Waits))
        while "step_started work" not in await driver.kinds(ledger):
            await asyncio.sleep(0)
        driver.clock.advance(9)
        free.set()
        await busy
        await asyncio.to_thread(began.wait, 10)
        driver.clock.advance(4)
        go.set()

        assert await life == Succeeded()
        assert await driver.result(ledger, Waits) == "done"


async def test_the_time_of_an_attempt_begins_with_its_thread() -> None:
    class Slow(Actor, name="threads.slow"):
        @step(retry=ONCE, timeout=5)
        def work(self) -> None:
            began.set()
            go.wait(10)

    began, go = threading.Event(), threading.Event()
    async with driving() as driver:
        ledger = await driver.create(Slow())
        life = asyncio.create_task(driver.live(ledger, Slow))
        await asyncio.to_thread(began.wait, 10)
        driver.clock.advance(5)

        ended = await life
        go.set()
        assert isinstance(ended, Crashed)
        assert "timeout=5 s" in ended.failure.message
