"""Servers start children with the commits of their messages, and are started as children."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everstep import Actor, HandlerFailed, Retry, Runtime, Status, TaskFailed, handler, step
from everstep.actors.serving import KEPT_REPLIES
from tests.runtime.kit import Place, until
from tests.servers.accounts import Account, Chat


class Clerk(Actor, name="kin.Clerk"):
    """Copies a text, tells its office, and sleeps."""

    office: str
    text: str
    rests: bool = False

    async def run(self) -> str:
        if self.rests:
            await self.ctx.sleep(1000)
        await self.ctx.get(Office, self.office).tell(Office.done, self.text)
        return self.text


class Office(Actor, name="kin.Office"):
    """Gives its work to clerks."""

    copies: list[str] = []

    @handler(retry=Retry(max_attempts=1))
    async def copy_out(self, text: str, *, rests: bool = False) -> str:
        clerk = await self.ctx.start(Clerk(office=self.ctx.task_id, text=text, rests=rests))
        if not text:
            raise ValueError("nothing to copy")
        return clerk.id

    @handler
    async def copy_twice(self, text: str) -> list[str]:
        return [await self.give(text), await self.give(text)]

    @step(retry=Retry(max_attempts=1))
    async def give(self, text: str) -> str:
        return (await self.ctx.start(Clerk(office=self.ctx.task_id, text=text))).id

    @handler(retry=Retry(max_attempts=1))
    async def wait_for(self, text: str) -> str:
        return await (await self.ctx.start(Clerk(office=self.ctx.task_id, text=text))).result()

    @handler
    async def done(self, text: str) -> None:
        self.copies = [*self.copies, text]

    @handler
    async def all(self) -> list[str]:
        return self.copies

    @handler
    async def count(self) -> int:
        return len(self.copies)


async def children(runtime: Runtime, parent: str) -> list[str]:
    return [child.id for child in await runtime.tasks(parent=parent)]


async def test_a_handler_starts_a_child_with_the_commit_of_its_message(place: Place) -> None:
    async with place.runtime() as runtime:
        office = runtime.get(Office, "o")
        one = await office.ask(Office.copy_out, "one", request_id="r")
        again = await office.ask(Office.copy_out, "one", request_id="r")
        two = await office.ask(Office.copy_out, "two")

        assert one == again
        assert await children(runtime, "o") == [one, two]
        assert [await runtime.task(child).result() for child in (one, two)] == ["one", "two"]
        assert sorted(await office.ask(Office.all)) == ["one", "two"]  # they told it


async def test_a_handler_that_fails_has_started_nobody(place: Place) -> None:
    async with place.runtime() as runtime:
        office = runtime.get(Office, "o")
        with pytest.raises(HandlerFailed, match="nothing to copy"):
            await office.ask(Office.copy_out, "")
        assert await children(runtime, "o") == []


async def test_steps_of_a_handler_start_children_of_their_own(place: Place) -> None:
    async with place.runtime() as runtime:
        office = runtime.get(Office, "o")
        one = await office.ask(Office.copy_twice, "one")
        two = await office.ask(Office.copy_twice, "two")

        assert await children(runtime, "o") == one + two
        assert len(set(one + two)) == 4


async def test_a_handler_cannot_wait_for_a_child(place: Place) -> None:
    async with place.runtime() as runtime:
        with pytest.raises(
            HandlerFailed, match=r"child\.result was called in the handler wait_for"
        ):
            await runtime.get(Office, "o").ask(Office.wait_for, "one")
        assert await children(runtime, "o") == []


async def test_a_message_that_is_handled_anew_when_it_is_forgotten_starts_another_child(
    place: Place,
) -> None:
    async with place.runtime(mailbox=2 * KEPT_REPLIES) as runtime:
        office = runtime.get(Office, "o")
        one = await office.ask(Office.copy_out, "one", request_id="r")
        await asyncio.gather(*(office.tell(Office.count) for _ in range(KEPT_REPLIES + 600)))
        await office.ask(Office.count)
        two = await office.ask(Office.copy_out, "one", request_id="r")

        assert one != two
        assert await children(runtime, "o") == [one, two]


async def test_with_a_server_its_children_are_cancelled(place: Place) -> None:
    async with place.runtime() as runtime:
        office = runtime.get(Office, "o")
        child = runtime.task(await office.ask(Office.copy_out, "one", rests=True))
        await until(child, lambda info: info.status is Status.WAITING)
        await office.task.cancel()

        await until(child, lambda info: info.status is Status.CANCELLED)


# --- servers as children ----------------------------------------------------------------------


class Treasurer(Actor, name="kin.Treasurer"):
    """Keeps an account of its own."""

    then: str = "wait"

    async def run(self) -> Any:
        account = await self.ctx.start(Account(balance=5))
        if self.then == "gather":
            return await self.ctx.gather(Chat())
        if self.then == "result":
            return await account.result()
        paid = await self.ctx.get(Account, account.id).ask(Account.pay_in, 2)
        if self.then == "wait":
            await self.ctx.sleep(1000)
        return [account.id, paid]


async def test_a_server_that_is_a_child_answers_its_parent_and_outlives_its_success(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Treasurer(then="end"))
        account, paid = await task.result()

        assert paid == 7
        assert await children(runtime, task.id) == [account]
        assert await runtime.get(Account, account).ask(Account.look) == 7


async def test_a_server_that_is_a_child_ends_with_its_parent(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Treasurer())
        await until(task, lambda info: bool(info.due_at))
        [account] = await children(runtime, task.id)
        await task.cancel()

        await until(runtime.task(account), lambda info: info.status is Status.CANCELLED)


@pytest.mark.parametrize("then", ["result", "gather"])
async def test_nobody_waits_for_the_result_of_a_server(place: Place, then: str) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Treasurer(then=then))
        with pytest.raises(TaskFailed, match="is a server, which returns nothing"):
            await task.result()
        assert len(await children(runtime, task.id)) == 1
