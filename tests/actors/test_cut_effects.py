"""Effects whose caller is ended from outside: what was called is told from what was not."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Literal

import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.errors import EffectUnknown
from everstep.actors.exits import Crashed, Halted, Released, Succeeded
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.actors.threads import Threads
from everstep.storage import EffectState
from everstep.testing import ManualClock
from tests.actors.driver import driving
from tests.actors.slow_store import SlowStore

SOON = Retry(max_attempts=3, backoff=none())
CALLS: list[str] = []


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


@pytest.mark.parametrize("on_unknown", ["pause", "retry", "fail"])
async def test_an_effect_that_was_cut_off_is_unknown_to_the_next_attempt_and_not_awaited(
    on_unknown: Literal["pause", "retry", "fail"],
) -> None:
    began = asyncio.Semaphore(0)

    async def stubborn() -> str:
        CALLS.append("charge")
        while len(CALLS) == 1:
            try:
                began.release()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass
        return "paid"

    class Stubborn(Actor, name="cut_effects.stubborn"):
        @step(retry=SOON, timeout=5)
        async def pay(self) -> str:
            return await self.ctx.once("pay", stubborn, on_unknown=on_unknown)

    async with driving() as driver:
        ledger = await driver.create(Stubborn())
        life = asyncio.create_task(driver.live(ledger, Stubborn))
        await began.acquire()
        driver.clock.advance(5)
        await began.acquire()  # it has swallowed its cancellation
        driver.clock.advance(1)
        ended = await life
        assert not driver.environment.effects_running
        if on_unknown == "retry":
            assert (ended, len(CALLS)) == (Succeeded(), 2)
        else:
            assert isinstance(ended, Halted if on_unknown == "pause" else Crashed)
            assert CALLS == ["charge"]


async def test_an_effect_of_run_gets_its_grace_at_an_orderly_stop() -> None:
    began, go = asyncio.Event(), asyncio.Event()

    async def mail() -> str:
        CALLS.append("mail")
        began.set()
        await go.wait()
        return "sent"

    class Mailing(Actor, name="cut_effects.mailing"):
        async def run(self) -> str:
            return await self.ctx.once("mail", mail)

    async with driving() as driver:
        ledger = await driver.create(Mailing())
        life = driver.life(ledger, Mailing)
        living = asyncio.create_task(life.live())
        await began.wait()
        stopping = asyncio.create_task(life.release(grace=10, cleanup=1))
        await driver.clock.until_waiting()
        driver.clock.advance(9)
        await asyncio.sleep(0)
        go.set()
        await stopping
        assert await living in (Released(), Succeeded())
        await ledger.durable()
        (effect,) = await driver.store.effects(ledger.row.key)
        assert effect.state is EffectState.RECEIPT


async def test_an_effect_whose_intent_took_too_long_to_write_was_not_done() -> None:
    async def charge() -> str:
        CALLS.append("charge")
        return "paid"

    class Slow(Actor, name="cut_effects.slow"):
        async def run(self) -> str:
            return await self.pay()

        @step(retry=SOON, timeout=5)
        async def pay(self) -> str:
            await self.prepare()
            if self.ctx.attempt == 1:
                store.hold()
            return await self.ctx.once("pay", charge)

        @step
        async def prepare(self) -> None:
            """Wait for what there is to write so far."""

    store = SlowStore(ManualClock())
    async with driving(store) as driver:
        ledger = await driver.create(Slow())
        life = driver.life(ledger, Slow)
        living = asyncio.create_task(life.live())
        await store.waits.wait()
        driver.clock.advance(5)
        while life.steps_running:
            await asyncio.sleep(0)
        assert CALLS == []
        store.let_go()
        assert await living == Succeeded()
        assert await driver.result(ledger, Slow) == "paid"
        assert CALLS == ["charge"]


async def test_no_time_limit_runs_out_while_the_store_cannot_commit() -> None:
    began = asyncio.Semaphore(0)
    attempts: list[int] = []

    class Limited(Actor, name="cut_effects.limited"):
        @step(retry=SOON, timeout=5)
        async def work(self) -> str:
            attempts.append(self.ctx.attempt)
            if self.ctx.attempt == 1:
                began.release()
                await asyncio.Event().wait()
            return "done"

    store = SlowStore(ManualClock())
    async with driving(store) as driver:
        ledger = await driver.create(Limited())
        life = driver.life(ledger, Limited)
        living = asyncio.create_task(life.live())
        await began.acquire()
        store.fails = True
        driver.clock.advance(60)
        await asyncio.sleep(0)
        assert life.steps_running == ("work",)
        assert attempts == [1]

        store.fails = False
        driver.clock.advance(5)

        assert await living == Succeeded()
        assert attempts == [1, 2]


async def test_a_receipt_that_comes_after_the_store_was_closed_is_told_by_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    began, go = threading.Event(), threading.Event()
    unhandled: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: unhandled.append(told))

    def charge() -> str:
        began.set()
        go.wait(10)
        return "paid"

    class Late(Actor, name="cut_effects.late"):
        @step
        async def pay(self) -> str:
            return await self.ctx.once("pay", charge)

    async with driving() as driver:
        ledger = await driver.create(Late(), "late")
        life = driver.life(ledger, Late)
        living = asyncio.create_task(life.live())
        await asyncio.to_thread(began.wait, 10)
        await life.release(grace=0, cleanup=1)
        assert isinstance(await living, Released)
        running = list(driver.environment.effects_running.values())
    go.set()
    await asyncio.wait(running)

    assert unhandled == []
    assert "the receipt of pay of late is lost" in caplog.text


async def test_a_plain_function_that_waited_for_a_thread_when_its_time_was_over_was_not_done() -> (
    None
):
    go = threading.Event()

    def charge() -> str:
        CALLS.append("charge")
        return "paid"

    class Queued(Actor, name="cut_effects.queued"):
        @step(retry=SOON, timeout=5)
        async def pay(self) -> str:
            return await self.ctx.once("pay", charge)

    async with driving() as driver:
        threads = driver.environment.threads = Threads(most=1)
        busy = threads.start(lambda: go.wait(10))
        ledger = await driver.create(Queued())
        life = asyncio.create_task(driver.live(ledger, Queued))
        while not driver.environment.effects_running:
            await asyncio.sleep(0)
        driver.clock.advance(5)
        while "effect_not_done pay" not in await driver.kinds(ledger):
            await asyncio.sleep(0)
        go.set()
        await busy
        assert await life == Succeeded()
        assert CALLS == ["charge"]


async def test_a_receipt_that_waits_for_the_disk_is_kept_while_another_effect_is_read() -> None:
    async def unsure() -> str:
        CALLS.append("unsure")
        raise RuntimeError("connection lost")

    async def charge() -> str:
        CALLS.append("charge")
        store.hold()
        return "paid"

    class Two(Actor, name="cut_effects.two"):
        @step(retry=SOON)
        async def pay(self) -> str:
            if self.ctx.attempt == 1:
                return await self.ctx.once("unsure", unsure, on_unknown="retry")
            paying = asyncio.create_task(self.ctx.once("pay", charge))
            if self.ctx.attempt == 2:
                await store.waits.wait()
                with pytest.raises(EffectUnknown):
                    await self.ctx.once("unsure", unsure, on_unknown="fail")
                store.let_go()
                await paying
                raise ValueError("once more")
            return await paying

    store = SlowStore(ManualClock())
    async with driving(store) as driver:
        ledger = await driver.create(Two())
        assert await driver.live(ledger, Two) == Succeeded()
        assert await driver.result(ledger, Two) == "paid"
        assert CALLS == ["unsure", "charge"]
