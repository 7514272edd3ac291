"""Messages reach a task once, in order, in memory and out of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import Field

from everstep import (
    Actor,
    MailboxFull,
    NotSerializable,
    Status,
    Task,
    TaskEnded,
    TaskFailed,
    TaskNotFound,
    WaitTimeout,
    step,
)
from tests.runtime.kit import Place, Plain, next_event, until
from tests.waits.clerks import Clerk, Order, Refund


@dataclass
class Note:
    text: str


class Taker(Actor, name="messages.Taker"):
    """Takes one message of the kind that the test asks for."""

    kind: ClassVar[Any] = Any

    timeout: float | None = None

    async def run(self) -> str:
        return repr(await self.ctx.receive(Taker.kind, timeout=self.timeout))


@pytest.fixture(autouse=True)
def _nothing_begun() -> None:
    Clerk.begun = 0
    Taker.kind = Any


async def waiting(task: Task[Any]) -> None:
    await until(task, lambda info: info.status is Status.WAITING)


async def out_of_memory(place: Place, task: Task[Any]) -> None:
    await waiting(task)
    place.clock.advance(10)
    await next_event(task, "task_suspended")


async def test_messages_are_taken_in_the_order_in_which_they_were_sent(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Clerk(orders=3))
        for number in (1, 2, 3):
            await task.send(Order(number=number))

        assert await task.result() == [1, 2, 3]
    assert Clerk.begun == 1


async def test_a_message_wakes_a_task_that_waits_in_memory(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Clerk(orders=1))
        await waiting(task)
        await task.send(Order(number=7))

        assert await task.result() == [7]
    assert Clerk.begun == 1


async def test_a_message_wakes_a_task_that_has_left_memory(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Clerk(orders=2))
        await out_of_memory(place, task)
        await runtime.task(task.id).send(Order(number=7))
        await task.send(Order(number=8))

        assert await task.result() == [7, 8]
    assert Clerk.begun == 2


async def test_a_message_sent_before_a_restart_is_taken_after_it(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Clerk(orders=1), id="c")
        await waiting(task)
        await task.send(Refund(number=1))
        await out_of_memory(place, task)
    async with place.runtime(actors=[]) as runtime:
        await runtime.task("c").send(Order(number=7))

    async with place.runtime() as runtime:
        assert await runtime.task("c").result() == [7]


async def test_a_message_that_nobody_asked_for_stays_where_it_is(place: Place) -> None:
    class Picky(Actor, name="messages.Picky"):
        async def run(self) -> list[int]:
            order = await self.ctx.receive(Order)
            refunds = [await self.ctx.receive(Refund) for _ in range(2)]
            return [order.number, *(refund.number for refund in refunds)]

    async with place.runtime() as runtime:
        task = await runtime.start(Picky())
        await waiting(task)
        for message in (Refund(number=1), Note("hm"), Refund(number=2), Order(number=3)):
            await task.send(message)

        assert await task.result() == [3, 1, 2]


@pytest.mark.parametrize(
    ("kind", "taken"),
    [
        (Order, "Order(number=1)"),
        (Note, "Note(text='hi')"),
        (int, "5"),
        (float, "2.5"),
        (bool, "True"),
        (str, "'text'"),
        (list[int], "[1, 2]"),
        (list[str], "['a']"),
        (dict[str, int], "{'a': 1}"),
        (None, "None"),
        (Note | int, "5"),
        (Refund | Order, "Order(number=1)"),
        (list[str] | list[int], "['a']"),
        (Sequence[int], "[1, 2]"),
        (Annotated[int, Field(gt=4)], "5"),
        (Literal["text"], "'text'"),
        (object, "True"),
    ],
)
async def test_a_message_is_taken_by_its_type(place: Place, kind: Any, taken: str) -> None:
    Taker.kind = kind
    messages = [True, 5, 2.5, "text", ["a"], [1, 2], {"a": 1}, None, Order(number=1), Note("hi")]
    async with place.runtime() as runtime:
        task = await runtime.start(Taker())
        await waiting(task)
        for message in messages:
            with contextlib.suppress(TaskEnded):
                await task.send(message)

        assert await task.result() == taken


async def test_a_repeat_of_a_message_with_the_same_id_changes_nothing(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Clerk(orders=2))
        for number, name in ((1, "a"), (1, "a"), (9, "a"), (2, "b")):
            await task.send(Order(number=number), id=name)

        assert await task.result() == [1, 2]
        await task.send(Order(number=1), id="a")


async def test_a_full_mailbox_is_told_to_the_sender_and_loses_nothing(place: Place) -> None:
    async with place.runtime(mailbox=2) as runtime:
        task = await runtime.start(Clerk(orders=2))
        for number in (1, 2):
            await task.send(Refund(number=number))
        with pytest.raises(MailboxFull, match="holds 2 messages"):
            await task.send(Order(number=3))
        assert (await task.status()).status is not Status.SUCCEEDED


async def test_a_message_to_nobody_is_answered(place: Place) -> None:
    async with place.runtime() as runtime:
        with pytest.raises(TaskNotFound):
            await runtime.task("nobody").send(1)
        task = await runtime.start(Plain())
        await task.result()
        with pytest.raises(TaskEnded, match="succeeded"):
            await task.send(1)


async def test_a_message_that_would_not_come_back_is_refused(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Clerk(orders=1))
        with pytest.raises(NotSerializable, match="the message object"):
            await task.send(object())


async def test_a_receive_ends_with_its_timeout_over_a_restart_too(place: Place) -> None:
    class Patient(Actor, name="messages.Patient"):
        async def run(self) -> str:
            try:
                await self.ctx.receive(Order, timeout=60)
            except WaitTimeout as late:
                return str(late)
            return "taken"

    async with place.runtime() as runtime:
        await out_of_memory(place, await runtime.start(Patient(), id="p"))
    place.clock.advance(49)
    async with place.runtime() as runtime:
        await (await runtime.start(Plain())).result()
        assert (await runtime.task("p").status()).status is Status.WAITING
        place.clock.advance(2)

        assert "ctx.receive(Order) was not answered" in await runtime.task("p").result()


async def test_a_cancelled_receive_takes_nothing(place: Place) -> None:
    class Hasty(Actor, name="messages.Hasty"):
        async def run(self) -> list[int]:
            first = asyncio.create_task(self.ctx.receive(Order, key="first"))
            await self.ctx.sleep(1)
            first.cancel()
            await asyncio.wait({first})
            return [(await self.ctx.receive(Order)).number]

    async with place.runtime() as runtime:
        task = await runtime.start(Hasty())
        await waiting(task)
        place.clock.advance(1)
        await next_event(task, "wait_cancelled")
        await task.send(Order(number=4))

        assert await task.result() == [4]


async def test_a_receive_in_a_step_is_refused(place: Place) -> None:
    class Wrong(Actor, name="messages.Wrong"):
        @step
        async def ask(self) -> None:
            await self.ctx.receive(Order)

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match=r"await self\.ctx\.receive\(…\)"):
            await (await runtime.start(Wrong())).result()


async def test_a_message_that_comes_while_the_task_leaves_memory_is_not_lost(place: Place) -> None:
    async with place.runtime() as runtime:
        for number in range(20):
            task = await runtime.start(Clerk(orders=1))
            await waiting(task)
            sending = asyncio.create_task(task.send(Order(number=number)))
            for _ in range(number):
                await asyncio.sleep(0)
            place.clock.advance(10)
            await sending

            assert await task.result() == [number]


async def test_receives_side_by_side_each_find_what_came_before_them(place: Place) -> None:
    class Several(Actor, name="messages.Several"):
        async def run(self) -> list[int]:
            await self.ctx.sleep(1)
            order, refund = await asyncio.gather(
                self.ctx.receive(Order, key="order"), self.ctx.receive(Refund, key="refund")
            )
            return [order.number, refund.number]

    async with place.runtime() as runtime:
        task = await runtime.start(Several())
        await waiting(task)
        await task.send(Refund(number=2))
        await task.send(Order(number=1))
        place.clock.advance(1)

        assert await task.result() == [1, 2]


async def test_a_flow_of_many_chapters_takes_one_message_in_each(place: Place) -> None:
    class Chapters(Actor, name="messages.Chapters"):
        seen: list[int] = []

        async def run(self) -> list[int]:
            order = await self.ctx.receive(Order)
            self.seen = [*self.seen, order.number]
            return self.seen if len(self.seen) == 10 else self.ctx.again()

    async with place.runtime() as runtime:
        task = await runtime.start(Chapters())
        for number in range(10):
            await task.send(Order(number=number))

        assert await task.result() == list(range(10))


async def test_a_receive_that_is_cancelled_while_it_reads_hides_nothing_from_another(
    place: Place,
) -> None:
    class Two(Actor, name="messages.Two"):
        turns: int

        async def run(self) -> int:
            await self.ctx.sleep(1)
            first = asyncio.create_task(self.ctx.receive(Refund, key="refund"))
            second = asyncio.create_task(self.ctx.receive(Order, key="order"))
            for _ in range(self.turns):
                await asyncio.sleep(0)
            first.cancel()
            return (await second).number

    async with place.runtime() as runtime:
        for turns in range(8):
            task = await runtime.start(Two(turns=turns))
            await waiting(task)
            await task.send(Order(number=turns))
            place.clock.advance(1)

            assert await task.result() == turns
