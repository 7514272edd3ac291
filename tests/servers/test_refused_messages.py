"""Messages that a server cannot handle are refused to who sent them, and hold up nobody."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from everstep import Actor, MessageRefused, RuntimeClosed, Server, handler
from tests.runtime.kit import Gate, Place, kinds, next_event
from tests.servers.accounts import Account


def before(gate: Gate) -> type[Any]:
    class Edited(Actor, name="servers.Edited"):
        @handler
        async def hold(self) -> None:
            await gate.stop_at("hold")

        @handler
        async def gone(self) -> None: ...

        @handler
        async def narrowed(self, size: str) -> str:
            return size

        @handler
        async def fewer(self, one: int, two: int) -> int:
            return one + two

        @handler
        async def more(self) -> None: ...

    return Edited


def after() -> type[Any]:
    class Edited(Actor, name="servers.Edited"):
        @handler
        async def hold(self) -> None: ...

        @handler
        async def narrowed(self, size: int) -> int:
            return size

        @handler
        async def fewer(self, one: int) -> int:
            return one

        @handler
        async def more(self, needed: int) -> int:
            return needed

    return Edited


CALLS: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], str]] = {
    "gone": ((), (), "there is no handler gone"),
    "narrowed": (("big",), (1,), "the argument size of narrowed is not valid: Input should be"),
    "fewer": ((1, 2), (1,), "fewer has no parameter two"),
    "more": ((), (1,), "missing a required argument: 'needed'"),
}


async def sent_to(server: Server[Any], gate: Gate, actor: Any, name: str) -> None:
    """Leave a message unhandled behind another one."""
    await server.tell(actor.hold)
    await gate.until("hold")
    asking = asyncio.create_task(server.ask(getattr(actor, name), *CALLS[name][0], request_id="r"))
    await server.tell(actor.hold)  # sent when that is
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize("name", CALLS)
async def test_a_message_that_no_longer_fits_is_refused_and_blocks_nobody(
    place: Place, name: str
) -> None:
    _, present, why = CALLS[name]
    gate = Gate()
    old, new = before(gate), after()
    async with place.runtime(actors=[old]) as runtime:
        await sent_to(runtime.get(old, "e"), gate, old, name)
    async with place.runtime(actors=[new]) as runtime:
        server: Server[Any] = runtime.get(new, "e")
        assert await server.ask(new.narrowed, 3) == 3
        event = await next_event(server.task, "message_refused")
        assert event.data["message"] == "r"
        assert why in event.data["why"]
        if name != "gone":
            for _ in range(2):
                with pytest.raises(MessageRefused) as refused:
                    await server.ask(getattr(new, name), *present, request_id="r")
                assert why in str(refused.value)


async def test_a_plain_message_to_a_server_is_refused_in_its_log(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
        await account.ask(Account.pay_in, 1)
        await account.task.send("hello", id="m")
        event = await next_event(account.task, "message_refused")

        assert event.data == {"message": "m", "from": None, "why": "it is no call of a handler"}
        assert await account.ask(Account.pay_in, 1) == 2
        assert "task_crashed" not in await kinds(account.task)


async def test_a_closed_runtime_takes_no_messages(place: Place) -> None:
    async with place.runtime() as runtime:
        account = runtime.get(Account, "ann")
    with pytest.raises(RuntimeClosed):
        await account.tell(Account.pay_in, 1)
