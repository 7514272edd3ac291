"""What is committed while a life is in memory is handed to it, and nothing of it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import pytest

from everstep import Actor, handler
from everstep.actors.errand import called, packed_call
from everstep.actors.exits import Left, Succeeded
from everstep.actors.incarnation import Incarnation
from everstep.actors.messages import packed
from everstep.storage import Mail, MemoryStore, MessageRow, Post, StaleIncarnation, Status
from everstep.storage.interface import Refusal
from everstep.testing import ManualClock
from tests.actors.driver import Driver, driving


class Reading(MemoryStore):
    """Counts the readings of mailboxes; what was read is withheld until it may be told."""

    readings = 0

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock=clock)
        self.begun, self.may_tell = asyncio.Event(), asyncio.Event()
        self.may_tell.set()

    async def messages(self, key: int, *, after: int = 0, limit: int = 200) -> list[Mail]:
        self.readings += 1
        found = await super().messages(key, after=after, limit=limit)
        self.begun.set()
        await self.may_tell.wait()
        return found


class Taker(Actor, name="handed.Taker"):
    """Takes two numbers, one after the other."""

    async def run(self) -> list[int]:
        return [await self.ctx.receive(int), await self.ctx.receive(int)]


class Counter(Actor, name="handed.Counter"):
    counted: int = 0
    done: ClassVar[asyncio.Event]

    @handler
    async def count(self) -> None:
        self.counted += 1
        self.done.set()


class Leaving(Actor, name="handed.Leaving"):
    """Leaves a task that is to take a message, and has not yet looked for one."""

    left: ClassVar[list[asyncio.Task[int]]] = []

    async def run(self) -> None:
        self.left.append(asyncio.create_task(self.ctx.receive(int)))
        await asyncio.sleep(0)


class Sent:
    """A message from outside; `told` is called when it is committed."""

    def __init__(self, life: Incarnation, name: str, told: Callable[[MessageRow], None]) -> None:
        row = life.ledger.row
        called_count = packed_call(Counter, called(Counter, Counter.count), (), {})
        body = called_count if life.actor is Counter else packed(int(name))
        self.message = MessageRow(row.key, name, None, body, 1.0)
        self._post = Post(row.key, row.id, self.message, limit=9)
        self._told = told
        self.committed = asyncio.get_running_loop().create_future()

    def seal(self) -> Post:
        return self._post

    def settle(self, refusal: Refusal | None) -> None:
        assert refusal is None
        self._told(self.message)
        self.committed.set_result(None)


def hand(driver: Driver, message: MessageRow) -> None:
    driver.environment.posted([message])


async def send(driver: Driver, life: Incarnation, name: str, *, told: bool = True) -> MessageRow:
    sent = Sent(life, name, partial(hand, driver) if told else lambda _: None)
    driver.store.submit(sent)
    await sent.committed
    return sent.message


async def rests(driver: Driver, life: Incarnation) -> None:
    while not life.waits.resting:
        await asyncio.sleep(0)
    await life.ledger.durable()


async def begun(driver: Driver, actor: Actor) -> tuple[Incarnation, asyncio.Task[object]]:
    life = driver.life(await driver.create(actor), type(actor))
    living = asyncio.create_task(life.live())
    await rests(driver, life)
    return life, living


async def test_what_comes_while_a_life_waits_is_taken_without_reading() -> None:
    clock = ManualClock()
    store = Reading(clock)
    async with driving(store) as driver:
        life, living = await begun(driver, Taker())
        await send(driver, life, "1")
        await rests(driver, life)
        await send(driver, life, "2")
        await living

        assert await driver.result(life.ledger, Taker) == [1, 2]
    assert store.readings == 1


async def test_what_comes_while_it_reads_is_taken_after_what_came_before() -> None:
    store = Reading(ManualClock())
    async with driving(store) as driver:
        life = driver.life(await driver.create(Taker()), Taker)
        store.may_tell.clear()
        living = asyncio.create_task(life.live())
        await store.begun.wait()
        await send(driver, life, "1", told=False)
        await send(driver, life, "2")
        store.may_tell.set()
        await living

        assert await driver.result(life.ledger, Taker) == [1, 2]


async def test_a_message_that_is_told_after_it_was_read_is_taken_once() -> None:
    async with driving() as driver:
        ledger = await driver.create(Taker())
        life = driver.life(ledger, Taker)
        first = await send(driver, life, "1", told=False)
        living = asyncio.create_task(life.live())
        await rests(driver, life)
        hand(driver, first)
        await send(driver, life, "2")
        await living

        assert await driver.result(ledger, Taker) == [1, 2]


async def test_a_repeat_is_handed_to_nobody() -> None:
    async with driving() as driver:
        life, living = await begun(driver, Taker())
        await send(driver, life, "1")
        await rests(driver, life)
        await send(driver, life, "1")
        await send(driver, life, "2")
        await living

        assert await driver.result(life.ledger, Taker) == [1, 2]


@pytest.mark.parametrize("actor", [Taker(), Counter()])
async def test_a_life_that_is_to_leave_before_it_has_looked_leaves_a_queued_task(
    actor: Actor,
) -> None:
    Counter.done = asyncio.Event()
    async with driving() as driver:
        life, living = await begun(driver, actor)
        message = await send(driver, life, "1", told=False)
        leaving = asyncio.create_task(life.release(grace=0, cleanup=1))
        hand(driver, message)  # the life leaves in the next turn, and would look after that
        await leaving

        assert isinstance(await living, Left)
        row = await driver.store.task(life.task_id)
        assert row is not None and row.progress.status is Status.QUEUED


async def test_a_server_that_leaves_with_its_answer_in_the_air_is_woken_by_the_next_message() -> (
    None
):
    Counter.done = asyncio.Event()
    async with driving() as driver:
        life, living = await begun(driver, Counter())
        await send(driver, life, "1")
        await Counter.done.wait()
        assert life.waits.resting
        assert not life.waits.standing
        await life.release(grace=0, cleanup=1)

        assert isinstance(await living, Left)
        row = await driver.store.task(life.task_id)
        assert row is not None and row.progress.status is Status.WAITING
        await send(driver, life, "2")
        row = await driver.store.task(life.task_id)
        assert row is not None and row.progress.status is Status.QUEUED


async def test_a_server_that_answers_in_one_commit_waits_before_and_after_it() -> None:
    Counter.done = asyncio.Event()
    async with driving() as driver:
        life, living = await begun(driver, Counter())
        before = life.ledger.event_seq
        await send(driver, life, "1")
        await Counter.done.wait()
        await life.ledger.durable()

        row = await driver.store.task(life.task_id)
        assert row is not None and row.progress.status is Status.WAITING
        events = await driver.store.events(life.ledger.row.key, after=before)
        kinds = [event.event.kind for event in events]
        assert kinds == ["step_started", "step_completed"]
        await life.release(grace=0, cleanup=1)
        await living


async def test_code_that_is_left_and_looks_for_a_message_when_its_life_ends_is_refused() -> None:
    store = Reading(ManualClock())
    store.may_tell.clear()
    Leaving.left.clear()
    async with driving(store) as driver:
        life = driver.life(await driver.create(Leaving()), Leaving)
        living = asyncio.create_task(life.live())
        await store.begun.wait()
        assert await living == Succeeded()
        store.may_tell.set()

        with pytest.raises(StaleIncarnation):
            await Leaving.left[0]
