"""Readonly handlers run beside the others, and change nothing."""

from __future__ import annotations

import asyncio

import pytest

from everstep import HandlerFailed, Status
from tests.runtime.kit import Gate, Place, next_event, until
from tests.servers.accounts import Account, Chat


@pytest.fixture(autouse=True)
def _nothing_handled() -> None:
    Account.handled = []
    Account.gate = Gate()


async def test_a_readonly_handler_runs_beside_another_on_the_newest_commit(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        await account.ask(Account.pay_in, 5)
        asking = asyncio.create_task(account.ask(Account.slowly, "one"))
        await Account.gate.until("one")

        assert await account.ask(Account.look) == 5
        Account.gate.open("one")
        assert await asking == "one"


async def test_a_readonly_handler_holds_up_nobody(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        looking = [
            asyncio.create_task(account.ask(Account.look_slowly, name)) for name in ("a", "b")
        ]
        await Account.gate.until("a")
        await Account.gate.until("b")
        Account.gate.open("one")
        assert await account.ask(Account.slowly, "one") == "one"
        Account.gate.open("a", "b")

        assert await asyncio.gather(*looking) == ["nobody", "nobody"]


async def test_a_readonly_handler_that_changes_a_field_fails(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        with pytest.raises(HandlerFailed, match="is readonly and changed balance"):
            await account.ask(Account.spoil)

        assert await account.ask(Account.look) == 0


async def test_a_readonly_handler_that_is_interrupted_is_asked_again(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        asking = asyncio.create_task(account.ask(Account.look_slowly, "a", request_id="r"))
        await Account.gate.until("a")
    with pytest.raises(Exception, match="it was left"):
        await asking
    Account.gate.open("a")
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        assert await account.ask(Account.look_slowly, "a", request_id="r") == "nobody"
    assert Account.gate.order == ["a", "a"]


async def test_a_server_with_readonly_handlers_rests_and_leaves_memory(place: Place) -> None:
    async with place.runtime() as runtime:
        chat = runtime.get(Chat, "c")
        assert await chat.ask(Chat.say, "hi") == 1
        assert await chat.ask(Chat.all) == ["hi"]
        await until(chat.task, lambda info: info.status is Status.WAITING)
        place.clock.advance(10)
        await next_event(chat.task, "task_suspended")

        assert await chat.ask(Chat.all) == ["hi"]
        assert await chat.ask(Chat.say, "there") == 2
        assert await chat.ask(Chat.all) == ["hi", "there"]
