"""A server whose state does not load keeps its messages until the class is mended."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest

from everstep import Actor, handler
from tests.actors.unreadable_kit import EDITS, Serving, made, paused, stored
from tests.runtime.kit import Place, kinds, next_event


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("kind", EDITS)
async def test_a_message_stays_while_the_state_of_its_server_does_not_load(
    place: Place, kind: str, beside: bool
) -> None:
    old, value, new = EDITS[kind]
    before, after = made(Serving, old), made(Serving, new)

    def ask(server: Any, actor: Any) -> Any:
        if beside:
            return server.ask(actor.look_beside, request_id="q")
        return server.ask(actor.look, 7, request_id="q")

    async with place.runtime(actors=[before]) as runtime:
        server = runtime.get(before, "1", before(f=value))
        await server.ask(before.keep, 2)
    async with place.runtime(actors=[after]) as runtime:
        server = runtime.get(after, "1")
        asking = asyncio.ensure_future(ask(server, after))
        await paused(server.task)
        assert not asking.done()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert "step_failed" not in await kinds(server.task)
    async with place.runtime(actors=[before]) as runtime:
        server = runtime.get(before, "1")
        assert await server.task.resume()
        assert await ask(server, before) == repr((stored(kind),) if beside else (stored(kind), 7))


class Asking(Actor, name="unreadable.Asking"):
    """Asks a server, then waits for a word."""

    server: ClassVar[Any]

    async def run(self) -> str:
        try:
            reply = await self.ctx.get(self.server, "1").ask(self.server.reply)
        except Exception as error:
            reply = type(error)
        return f"{await self.ctx.receive(str)} {reply}"


async def test_a_recorded_reply_that_does_not_load_pauses_who_asked(place: Place) -> None:
    class Before(Actor, name="unreadable.Replying"):
        @handler
        async def reply(self) -> int:
            return 5

    class After(Actor, name="unreadable.Replying"):
        @handler
        async def reply(self) -> list[int]:
            return [5]

    Asking.server = Before
    async with place.runtime(actors=[Asking, Before]) as runtime:
        task = await runtime.start(Asking(), id="x")
        replied = await next_event(task, "wait_ended")
        await next_event(task, "wait_started", replied.number)
    Asking.server = After
    async with place.runtime(actors=[Asking, After]) as runtime:
        task = runtime.task("x")
        await task.send("go")
        await paused(task)
    Asking.server = Before
    async with place.runtime(actors=[Asking, Before]) as runtime:
        task = runtime.task("x")
        assert await task.resume()
        assert await task.result() == "go 5"
