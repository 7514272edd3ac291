"""What an edited class makes of a step in the air, with a receipt and no checkpoint."""

from __future__ import annotations

import asyncio

import pytest

from everstep.actors.actor import Actor
from everstep.actors.exits import Exit, Halted, Released, Succeeded
from everstep.actors.ledger import Ledger
from everstep.actors.step import step
from everstep.storage import EffectState
from tests.actors.driver import Driver, driving

SENT: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    SENT.clear()


async def send(to: str) -> str:
    SENT.append(to)
    return f"sent to {to}"


async def endless() -> str:
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    return await future


class Mails(Actor, name="in_the_air"):
    """Its steps come to no end once they have their receipt."""

    to: list[str] = ["ann"]

    async def run(self) -> list[str]:
        return list(await asyncio.gather(*map(self.mail, self.to)))

    @step
    async def mail(self, to: str) -> str:
        await self.ctx.once("mail", send, to)
        return await endless()


async def cut_then(driver: Driver, old: Actor, new: type[Actor]) -> tuple[Ledger, Exit]:
    """End a life of `old` when all of `to` have their mail; live again as `new`."""
    ledger = await driver.create(old)
    life = driver.life(ledger, type(old))
    living = asyncio.create_task(life.live())
    while len(await _receipts(driver, ledger)) < len(getattr(old, "to", "1")):
        await asyncio.sleep(0)
    stopping = asyncio.create_task(life.release(grace=0, cleanup=1))
    assert await living == Released()
    await stopping
    await ledger.durable()
    ledger = await driver.claimed(ledger.row.id)
    ended = await driver.live(ledger, new)
    await ledger.durable()
    return ledger, ended


async def _receipts(driver: Driver, ledger: Ledger) -> list[str]:
    effects = await driver.store.effects(ledger.row.key)
    return [row.operation for row in effects if row.state is EffectState.RECEIPT]


async def test_it_finds_its_receipt_when_nothing_was_edited() -> None:
    class Same(Mails, name="in_the_air"):
        @step
        async def mail(self, to: str) -> str:
            return await self.ctx.once("mail", send, to)

    async with driving() as driver:
        ledger, ended = await cut_then(driver, Mails(to=["ann", "bob"]), Same)

        assert ended == Succeeded()
        assert await driver.result(ledger, Same) == ["sent to ann", "sent to bob"]
        assert SENT == ["ann", "bob"]


async def test_another_call_of_it_put_before_is_not_given_its_receipt() -> None:
    class Rings(Mails, name="in_the_air.rings"):
        @step
        async def mail(self, to: str) -> str:
            await self.ctx.once("ring", send, "all")
            return await endless()

    class RingsFirst(Rings, name="in_the_air.rings"):
        async def run(self) -> list[str]:
            return [await self.mail("new"), *[await self.mail(to) for to in self.to]]

        @step
        async def mail(self, to: str) -> str:
            return await self.ctx.once("ring", send, "all")

    async with driving() as driver:
        _, ended = await cut_then(driver, Rings(), RingsFirst)

        assert isinstance(ended, Halted)
        assert ended.reason == "replay_mismatch"
        assert 'had begun an effect with to="ann"' in ended.failure.message
        assert 'is now called with to="new"' in ended.failure.message
        assert SENT == ["all"]


async def test_a_call_with_other_arguments_takes_the_place_of_one_that_made_no_effect() -> None:
    class Works(Actor, name="in_the_air.works"):
        to: list[str] = []

        async def run(self) -> str:
            return await self.work("old")

        @step
        async def work(self, what: str) -> str:
            return await endless()

    class WorksOtherwise(Works, name="in_the_air.works"):
        async def run(self) -> str:
            return await self.work("new")

        @step
        async def work(self, what: str) -> str:
            return what

    async with driving() as driver:
        ledger, ended = await cut_then(driver, Works(), WorksOtherwise)

        assert ended == Succeeded()
        assert await driver.result(ledger, WorksOtherwise) == "new"


async def test_one_that_gained_a_key_finds_its_receipt() -> None:
    class ByKey(Mails, name="in_the_air"):
        async def run(self) -> list[str]:
            return [await self.mail(to) for to in ("new", *reversed(self.to))]

        @step(key="to")
        async def mail(self, to: str) -> str:
            return await self.ctx.once("mail", send, to)

    async with driving() as driver:
        ledger, ended = await cut_then(driver, Mails(to=["ann", "bob"]), ByKey)

        assert ended == Succeeded()
        assert await driver.result(ledger, ByKey) == ["sent to new", "sent to bob", "sent to ann"]
        assert SENT == ["ann", "bob", "new"]


async def test_one_below_a_step_that_gained_a_key_finds_its_receipt_once() -> None:
    class Below(Actor, name="in_the_air.below"):
        async def run(self) -> list[str]:
            return await self.outer()

        @step
        async def outer(self) -> list[str]:
            await self.ctx.step(self.mail, "ann")
            return []

        async def mail(self, to: str) -> str:
            await self.ctx.once("mail", send, to)
            return await endless()

    class BelowByKey(Below, name="in_the_air.below"):
        @step
        async def outer(self) -> list[str]:
            calls = [self.ctx.step(self.mail, "ann", key=key) for key in ("first", "second")]
            return list(await asyncio.gather(*calls))

        async def mail(self, to: str) -> str:
            return await self.ctx.once("mail", send, to)

    async with driving() as driver:
        ledger, ended = await cut_then(driver, Below(), BelowByKey)

        assert ended == Succeeded()
        assert await driver.result(ledger, BelowByKey) == ["sent to ann"] * 2
        assert SENT == ["ann"] * 2, "one call for each of the two"


class Paid(Actor, name="in_the_air.plan"):
    @step
    async def pay(self) -> str:
        await self.ctx.once("pay", send, "bank")
        return await endless()


class PaidByAnotherName(Actor, name="in_the_air.plan"):
    @step
    async def pay_bill(self) -> str:
        return await self.ctx.once("pay", send, "bank")


async def test_one_that_was_renamed_pauses_the_task_before_its_effect_is_made_again() -> None:
    async with driving() as driver:
        ledger, ended = await cut_then(driver, Paid(), PaidByAnotherName)

        assert isinstance(ended, Halted)
        assert ended.reason == "effect_moved"
        for fact in ("the effect 'pay' of step pay_bill", "step pay ", "another key"):
            assert fact in ended.failure.message
        assert SENT == ["bank"]

        class PaidAgain(Actor, name="in_the_air.plan"):
            @step
            async def pay(self) -> str:
                return await self.ctx.once("pay", send, "bank")

        assert await driver.again(ledger, PaidAgain) == Succeeded()
        assert SENT == ["bank"], "under its old name it finds its receipt"


async def test_another_key_tells_that_the_effect_of_a_renamed_step_is_another_one() -> None:
    class PaysAnotherBill(Actor, name="in_the_air.plan"):
        @step
        async def pay_bill(self) -> str:
            return await self.ctx.once("pay another", send, "bank")

    async with driving() as driver:
        _, ended = await cut_then(driver, Paid(), PaysAnotherBill)

        assert ended == Succeeded()
        assert SENT == ["bank", "bank"]


async def test_alike_effects_of_steps_that_are_all_called_again_pause_nothing() -> None:
    class Alike(Actor, name="in_the_air.alike"):
        to: list[str] = ["bank"]

        async def run(self) -> list[str]:
            return list(await asyncio.gather(self.first(), self.second()))

        @step
        async def first(self) -> str:
            return await endless()

        @step
        async def second(self) -> str:
            await self.ctx.once("pay", send, "bank")
            return await endless()

    class AlikeToEnd(Alike, name="in_the_air.alike"):
        @step
        async def first(self) -> str:
            return await self.ctx.once("pay", send, "bank")

        @step
        async def second(self) -> str:
            return await self.ctx.once("pay", send, "bank")

    async with driving() as driver:
        _, ended = await cut_then(driver, Alike(), AlikeToEnd)

        assert ended == Succeeded()
        assert SENT == ["bank", "bank"]
