"""A server is asked: each message is handled once, in order, and answered after the commit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everstep import (
    Actor,
    BadActor,
    BadCall,
    HandlerFailed,
    MailboxFull,
    NotValid,
    Runtime,
    Status,
    TaskEnded,
    TaskExists,
    WaitTimeout,
    handler,
)
from tests.runtime.kit import Gate, Place, Plain, kinds, next_event, until
from tests.servers.accounts import Account, Chat, Forwarding, Named


@pytest.fixture(autouse=True)
def _nothing_handled() -> None:
    Account.handled = []
    Account.gate = Gate()
    Account.wakings = 0


async def out_of_memory(place: Place, server: Any) -> None:
    await until(server.task, lambda info: info.status is Status.WAITING)
    place.clock.advance(10)
    await next_event(server.task, "task_suspended")


async def test_a_server_is_created_by_its_first_message_and_keeps_its_state(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")

        assert await account.ask(Account.pay_in, 5) == 5
        assert await account.ask(Account.pay_out, 2) == 3
        assert (await account.task.state(Account)).balance == 3
    async with place.runtime() as runtime:
        assert await runtime.get(Account, "ann").ask(Account.pay_in, 1, note="x") == 4


async def test_a_server_begins_with_the_state_that_is_given(place: Place) -> None:
    async with place.runtime() as runtime:
        with pytest.raises(BadCall, match="name"):
            await runtime.get(Named, "n").ask(Named.called)

        assert await runtime.get(Named, "n", Named(name="bob")).ask(Named.called) == "bob"
        assert await runtime.get(Named, "n", Named(name="cid")).ask(Named.called) == "bob"
        assert await runtime.get(Named, "n").ask(Named.called) == "bob"


async def test_an_id_of_another_actor_is_refused(place: Place) -> None:
    async with place.runtime() as runtime:
        await runtime.start(Plain(), id="p")

        with pytest.raises(TaskExists, match=r"not 'servers\.Account'"):
            await runtime.get(Account, "p").ask(Account.pay_in, 1)


async def test_many_who_ask_a_new_server_at_once_create_one(place: Place) -> None:
    async with place.runtime() as runtime:
        asked = [runtime.get(Account, "ann").ask(Account.pay_in, 1) for _ in range(20)]

        assert sorted(await asyncio.gather(*asked)) == list(range(1, 21))
        assert len(await runtime.tasks()) == 1


async def test_messages_are_handled_in_the_order_of_arrival(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        for number in range(10):
            await account.tell(Account.pay_in, number)
        await account.ask(Account.pay_in, 0, note="last")

    assert Account.handled == [f"in {number}" for number in range(10)] + ["last"]


async def test_tell_does_not_wait_for_the_handling(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        await account.tell(Account.slowly, "one")
        await account.tell(Account.slowly, "two")
        await Account.gate.until("one")
        Account.gate.open("one", "two")
        assert await account.ask(Account.look) == 0
        await Account.gate.until("two")

    assert Account.gate.order == ["one", "two"]


async def test_a_repeat_returns_the_recorded_reply_and_changes_nothing(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        assert await account.ask(Account.pay_in, 5, request_id="r1") == 5
        assert await account.ask(Account.pay_in, 5, request_id="r2") == 10
        assert await account.ask(Account.pay_in, 5, request_id="r1") == 5
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        assert await account.ask(Account.pay_in, 5, request_id="r1") == 5
        assert await account.ask(Account.look) == 10
        await account.task.cancel()
        assert await account.ask(Account.pay_in, 5, request_id="r2") == 10


async def test_repeats_while_the_first_is_under_way_get_its_reply(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        asked = [
            asyncio.create_task(account.ask(Account.slowly, "one", request_id="r"))
            for _ in range(3)
        ]
        await Account.gate.until("one")
        Account.gate.open("one")

        assert await asyncio.gather(*asked) == ["one"] * 3
    assert Account.gate.order == ["one"]


async def test_a_request_id_of_another_handler_is_refused(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        await account.ask(Account.pay_in, 5, request_id="r1")

        with pytest.raises(BadCall, match="was used for pay_in"):
            await account.ask(Account.pay_out, 5, request_id="r1")


async def test_a_handler_that_fails_is_refused_and_the_server_goes_on(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        with pytest.raises(HandlerFailed, match="no money left") as failed:
            await account.ask(Account.break_down, 7, request_id="r")

        assert failed.value.attempts == 3
        assert failed.value.is_a(ValueError)
        assert await account.ask(Account.pay_in, 1) == 1
        with pytest.raises(HandlerFailed, match="no money left"):
            await account.ask(Account.break_down, 7, request_id="r")
        assert (await kinds(account.task)).count("step_failed") == 3


async def test_a_handler_that_is_to_crash_crashes_the_task_and_keeps_the_message(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")

        assert await account.ask(Account.crash) == "at last"
        assert await account.ask(Account.pay_in, 1) == 1
        assert (await kinds(account.task)).count("task_crashed") == 2


async def test_one_who_asks_a_server_that_is_given_up_is_told(place: Place) -> None:
    class Hopeless(Actor, name="servers.Hopeless"):
        @handler(on_failure="crash")
        async def work(self) -> None:
            raise BadCall("it", 1, "is wrong", "something else")

    async with place.runtime() as runtime:
        with pytest.raises(TaskEnded, match="failed"):
            await runtime.get(Hopeless, "h").ask(Hopeless.work)


async def test_a_cancelled_server_refuses_further_messages(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        asking = asyncio.create_task(account.ask(Account.slowly, "one"))
        await Account.gate.until("one")
        await account.task.cancel()

        with pytest.raises(TaskEnded, match="cancelled"):
            await asking
        with pytest.raises(TaskEnded, match="cancelled"):
            await account.ask(Account.pay_in, 1)
        with pytest.raises(TaskEnded, match="cancelled"):
            await runtime.get(Account, "ann").tell(Account.pay_in, 1)


async def test_a_full_mailbox_refuses_and_loses_nothing(place: Place) -> None:
    async with place.runtime(mailbox=2) as runtime:
        account = runtime.get(Account, "ann")
        await account.tell(Account.slowly, "one")
        await Account.gate.until("one")
        await account.tell(Account.pay_in, 1)
        with pytest.raises(MailboxFull):
            await account.ask(Account.pay_in, 1)
        Account.gate.open("one")
        await next_event(account.task, "task_waiting")

        assert await account.ask(Account.look) == 1


async def test_an_ask_that_nobody_answers_in_time_leaves_its_message(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        asking = asyncio.create_task(account.ask(Account.slowly, "one", request_id="r", timeout=5))
        await Account.gate.until("one")
        place.clock.advance(5)
        with pytest.raises(WaitTimeout, match=r"ask\(slowly of ann\).*request_id='r'"):
            await asking
        Account.gate.open("one")

        assert await account.ask(Account.slowly, "one", request_id="r") == "one"
    assert Account.gate.order == ["one"]


async def test_an_idle_server_leaves_memory_and_comes_back_with_its_state(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        await account.ask(Account.pay_in, 5)
        await out_of_memory(place, account)
        wakings = Account.wakings

        assert (await account.task.status()).status is Status.WAITING
        assert await account.ask(Account.pay_in, 5) == 10
        assert Account.wakings > wakings


async def test_an_idle_server_holds_no_slot(place: Place) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        for number in range(5):
            assert await runtime.get(Account, f"a{number}").ask(Account.pay_in, number) == number


async def test_a_message_to_another_task_is_sent_with_the_commit(place: Place) -> None:
    class Hearing(Actor, name="servers.Hearing"):
        async def run(self) -> str:
            return await self.ctx.receive(str)

    async with place.runtime() as runtime:
        task = await runtime.start(Hearing(), id="h")
        assert await runtime.get(Forwarding, "f").ask(Forwarding.forward, "h", "hello") == 1
        assert await task.result() == "hello"


async def test_arguments_that_do_not_fit_are_refused_before_anything_is_written(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        account: Any = runtime.get(Account, "ann")
        with pytest.raises(NotValid, match="the argument amount of pay_in"):
            await account.ask(Account.pay_in, "much")
        with pytest.raises(TypeError, match="pay_in"):
            await account.ask(Account.pay_in, 1, 2)
        with pytest.raises(BadCall, match="is no handler of Account"):
            await account.ask(Chat.say, "hi")
        with pytest.raises(BadCall, match="is no handler of Chat"):
            await runtime.get(Chat, "c").ask(Chat.keep, "hi")
        with pytest.raises(BadActor, match="no handlers"):
            runtime.get(Plain, "p")

        assert await runtime.tasks() == []


async def test_outside_a_runtime_a_handler_is_the_plain_function() -> None:
    account = Account(balance=3)

    assert await account.pay_in(2) == 5
    assert await account.pay_out(1) == 4


async def test_closing_the_runtime_ends_an_ask(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        asking = asyncio.create_task(account.ask(Account.slowly, "one", request_id="r"))
        await Account.gate.until("one")
    with pytest.raises(Exception, match="it was left"):
        await asking
    Account.gate.open("one")
    async with place.runtime() as again:
        assert isinstance(again, Runtime)
        assert await again.get(Account, "ann").ask(Account.slowly, "one", request_id="r") == "one"
