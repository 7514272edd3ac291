"""Side effects: an intent before, a receipt after, and a name for what is not known."""

from __future__ import annotations

import asyncio
import threading
from typing import Literal

import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import fixed, none
from everstep.actors.effects import Done, NotDone
from everstep.actors.exits import Crashed, Halted, Succeeded
from everstep.actors.failures import StepFailed
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.storage import EffectState
from tests.actors.driver import driving

SOON = Retry(max_attempts=3, backoff=none())
CALLS: list[str] = []


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


async def send(text: str) -> str:
    CALLS.append(text)
    return f"sent {text}"


async def test_a_receipt_stands_for_the_effect_in_every_later_attempt() -> None:
    class Mail(Actor, name="effects.mail"):
        @step(retry=SOON)
        async def mail(self) -> str:
            answer = await self.ctx.once("mail", send, "hello")
            if self.ctx.attempt == 1:
                raise ValueError("after the effect")
            return answer

    async with driving() as driver:
        ledger = await driver.create(Mail())
        assert await driver.live(ledger, Mail) == Succeeded()
        assert await driver.result(ledger, Mail) == "sent hello"
        assert CALLS == ["hello"]
        (effect,) = await driver.store.effects(ledger.row.key)
        assert effect.state is EffectState.RECEIPT


async def test_an_effect_that_raised_is_unknown_and_pauses_the_task_for_a_person() -> None:
    class Pay(Actor, name="effects.pay"):
        @step(retry=SOON)
        async def pay(self) -> str:
            return await self.ctx.once("pay", self.charge)

        async def charge(self) -> str:
            CALLS.append("charge")
            raise TimeoutError("no answer")

    async with driving() as driver:
        ledger = await driver.create(Pay())
        ended = await driver.live(ledger, Pay)
        assert isinstance(ended, Halted)
        assert ended.reason == "effect_unknown"
        assert "settle('pay'" in ended.remedy
        assert CALLS == ["charge"]
        await ledger.durable()
        assert not await driver.store.open_steps([ledger.row.key])


@pytest.mark.parametrize("answer", [Done("paid"), NotDone()])
async def test_a_probe_decides_an_unknown_effect(answer: Done[str] | NotDone) -> None:
    probed: list[str] = []

    async def probe(operation: str) -> Done[str] | NotDone:
        probed.append(operation)
        return answer

    async def charge() -> str:
        CALLS.append("charge")
        if len(CALLS) == 1:
            raise TimeoutError("no answer")
        return "paid"

    class Probed(Actor, name="effects.probed"):
        @step(retry=SOON)
        async def pay(self) -> str:
            return await self.ctx.once("pay", charge, probe=probe)

    async with driving() as driver:
        ledger = await driver.create(Probed())
        assert await driver.live(ledger, Probed) == Succeeded()
        assert await driver.result(ledger, Probed) == "paid"
        assert len(CALLS) == (1 if isinstance(answer, Done) else 2)
        (effect,) = await driver.store.effects(ledger.row.key)
        assert probed == [effect.operation]


async def test_on_unknown_retry_repeats_with_the_same_operation_id() -> None:
    class Again(Actor, name="effects.again"):
        @step(retry=SOON)
        async def pay(self) -> str:
            operation = self.ctx.operation_id("pay")
            return await self.ctx.once("pay", charge, operation, on_unknown="retry")

    async def charge(operation: str) -> str:
        CALLS.append(operation)
        if len(CALLS) < 3:
            raise OSError("reset")
        return "paid"

    async with driving() as driver:
        assert await driver.run(Again()) == Succeeded()
        assert len(CALLS) == 3
        assert len(set(CALLS)) == 1


async def test_on_unknown_fail_fails_the_step_for_good() -> None:
    class Never(Actor, name="effects.never"):
        @step(retry=SOON)
        async def pay(self) -> None:
            await self.ctx.once("pay", charge, on_unknown="fail")

    async def charge() -> None:
        CALLS.append("charge")
        raise OSError("reset")

    async with driving() as driver:
        ended = await driver.run(Never())
        assert isinstance(ended, Crashed)
        assert ended.never_retried
        assert CALLS == ["charge"]


async def test_an_effect_that_never_was_sent_is_simply_tried_again() -> None:
    class Refused(Actor, name="effects.refused"):
        @step(retry=SOON)
        async def pay(self) -> str:
            return await self.ctx.once("pay", charge)

    async def charge() -> str:
        CALLS.append("charge")
        if len(CALLS) < 3:
            raise ConnectionRefusedError
        return "paid"

    async with driving() as driver:
        assert await driver.run(Refused()) == Succeeded()
        assert CALLS == ["charge"] * 3


async def test_a_repeat_with_other_arguments_is_refused_and_never_retried() -> None:
    class Changing(Actor, name="effects.changing"):
        @step(retry=SOON)
        async def pay(self) -> None:
            await self.ctx.once("pay", send, f"attempt {self.ctx.attempt}")
            raise ValueError("again")

    async with driving() as driver:
        ended = await driver.run(Changing())
        assert isinstance(ended, Crashed)
        assert ended.never_retried
        assert "attempt 1" in ended.failure.message
        assert CALLS == ["attempt 1"]


async def test_a_key_is_used_once_in_an_attempt() -> None:
    class Twice(Actor, name="effects.twice"):
        @step(retry=SOON)
        async def pay(self) -> None:
            await self.ctx.once("pay", send, "a")
            await self.ctx.once("pay", send, "a")

    async with driving() as driver:
        ended = await driver.run(Twice())
        assert isinstance(ended, Crashed)
        assert ended.never_retried
        assert "'pay'" in ended.failure.message


async def test_an_effect_in_run_is_not_repeated_by_a_replay() -> None:
    class InRun(Actor, name="effects.in_run"):
        async def run(self) -> str:
            answer = await self.ctx.once("mail", send, "run")
            await self.work()
            return answer

        @step(retry=Retry(max_attempts=1))
        async def work(self) -> None:
            CALLS.append("work")
            if len(CALLS) == 2:
                raise ValueError("crash")

    async with driving() as driver:
        ledger = await driver.create(InRun())
        ended = await driver.live(ledger, InRun)
        assert isinstance(ended, Crashed)
        await driver.crash(ledger, ended)
        assert await driver.again(ledger, InRun) == Succeeded()
        assert CALLS == ["run", "work", "work"]


async def test_a_plain_function_runs_in_a_thread_and_its_receipt_is_kept() -> None:
    class Plain(Actor, name="effects.plain"):
        @step
        async def pay(self) -> int:
            return await self.ctx.once("pay", len, "four")

    async with driving() as driver:
        ledger = await driver.create(Plain())
        assert await driver.live(ledger, Plain) == Succeeded()
        assert await driver.result(ledger, Plain) == 4


async def test_an_effect_whose_call_timed_out_is_unknown_in_the_next_attempt() -> None:
    class Slow(Actor, name="effects.slow"):
        @step(retry=SOON, timeout=5)
        async def pay(self) -> None:
            await self.ctx.once("pay", charge)

    began = asyncio.Event()

    async def charge() -> None:
        CALLS.append("charge")
        began.set()
        await asyncio.Event().wait()

    async with driving() as driver:
        ledger = await driver.create(Slow())
        life = asyncio.create_task(driver.live(ledger, Slow))
        await began.wait()
        driver.clock.advance(5)
        ended = await life
        assert isinstance(ended, Halted)
        assert ended.reason == "effect_unknown"
        assert CALLS == ["charge"]


async def test_the_failure_of_an_effect_is_the_failure_of_the_step() -> None:
    class Fails(Actor, name="effects.fails"):
        async def run(self) -> bool:
            try:
                await self.pay()
            except StepFailed as failed:
                return failed.is_a(ConnectionRefusedError)
            return False

        @step(retry=SOON)
        async def pay(self) -> None:
            await self.ctx.once("pay", charge)

    async def charge() -> None:
        raise ConnectionRefusedError

    async with driving() as driver:
        ledger = await driver.create(Fails())
        assert await driver.live(ledger, Fails) == Succeeded()
        assert await driver.result(ledger, Fails) is True


@pytest.mark.parametrize("when", ["in the backoff", "in the next attempt"])
@pytest.mark.parametrize("on_unknown", ["pause", "retry", "fail"])
async def test_a_receipt_that_comes_late_from_a_thread_is_seen_by_the_next_attempt(
    when: str, on_unknown: Literal["pause", "retry", "fail"]
) -> None:
    began, go = threading.Event(), threading.Event()
    second = asyncio.Event()

    def charge() -> str:
        CALLS.append("charge")
        began.set()
        go.wait(10)
        return "paid"

    class Late(Actor, name="effects.late"):
        @step(retry=Retry(max_attempts=2, backoff=fixed(100), jitter="none"), timeout=5)
        async def pay(self) -> str:
            if self.ctx.attempt == 2:
                second.set()
            return await self.ctx.once("pay", charge, on_unknown=on_unknown)

    async with driving() as driver:
        ledger = await driver.create(Late())
        life = asyncio.create_task(driver.live(ledger, Late))
        await asyncio.to_thread(began.wait, 10)
        driver.clock.advance(5)
        while ledger.progress.due_at is None:
            await asyncio.sleep(0)
        running = dict(driver.environment.effects_running)
        assert len(running) == 1
        if when == "in the backoff":
            go.set()
            await asyncio.wait(running.values())
        while not second.is_set():
            driver.clock.advance_to_next()
            await asyncio.sleep(0)
        go.set()
        assert await life == Succeeded()
        assert await driver.result(ledger, Late) == "paid"
        assert CALLS == ["charge"]
        assert not driver.environment.effects_running
