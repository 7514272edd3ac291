"""What type checkers know of servers. This file itself is checked by both, strictly."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import assert_type

import pytest

from everstep import Actor, Runtime, Server, Task, handler
from tests.typing_kit import check_that_mypy_finds


class Chat(Actor, name="typing.Chat"):
    said: list[str] = []

    @handler
    async def say(self, text: str, *, times: int = 1) -> list[str]:
        return [text] * times

    @handler(readonly=True, timeout=3)
    def count(self) -> int:
        return len(self.said)


async def use(runtime: Runtime) -> None:
    """Never called: what the checkers make of it is the test."""
    chat = runtime.get(Chat, "42", Chat())
    assert_type(chat, Server[Chat])
    assert_type(chat.task, Task[None])
    assert_type(await chat.ask(Chat.say, "hi"), list[str])
    assert_type(await chat.ask(Chat.say, "hi", times=2), list[str])
    assert_type(await chat.ask(Chat.say, "hi", request_id="r", timeout=2), list[str])
    assert_type(await chat.ask(Chat.count), int)
    assert_type(await chat.ask(Chat.count, request_id="r"), int)
    await chat.tell(Chat.say, "hi", times=2)


class Asking(Actor, name="typing.Asking"):
    async def run(self) -> int:
        chat = self.ctx.get(Chat, "42")
        assert_type(await chat.ask(Chat.say, "hi", times=2), list[str])
        assert_type(await chat.ask(Chat.say, "hi", timeout=2, key="k"), list[str])
        await chat.tell(Chat.say, "hi")
        return await chat.ask(Chat.count)


BEFORE = """
from everstep import Actor, Runtime, Server, handler

class Other(Actor):
    @handler
    async def do(self) -> None: ...

class Flow(Actor):
    async def run(self) -> None: ...

class Chat(Actor):
    said: list[str] = []

    @handler
    async def say(self, text: str, *, times: int = 1) -> list[str]:
        return [text] * times

    @handler(readonly=True)
    def count(self) -> int:
        return len(self.said)

"""

WRONG = {
    "an argument of another type": "await c.ask(Chat.say, 3)",
    "an argument of another type, with options": "await c.ask(Chat.say, 3, request_id='r')",
    "an argument too many": "await c.ask(Chat.count, 3)",
    "an argument too few": "await c.ask(Chat.say)",
    "an unknown keyword": "await c.ask(Chat.say, 'x', loud=True)",
    "a handler of another actor": "await c.ask(Other.do)",
    "an ask that is not awaited": "c.ask(Chat.count)",
    "a reply of another type": "x: str = await c.ask(Chat.count)",
    "a tell of another type": "await c.tell(Chat.say, 3)",
    "an ask of a flow of another type": "await Flow().ctx.get(Chat, 'c').ask(Chat.say, 3)",
    "a timeout that is none": "await c.ask(Chat.say, 'x', timeout='long')",
}


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_what_is_wrong_is_reported_by_mypy(tmp_path: Path) -> None:
    inside = "async def f(c: Server[Chat]) -> None:\n"
    wrong = {what: inside + textwrap.indent(body, "    ") for what, body in WRONG.items()}

    check_that_mypy_finds(wrong, BEFORE, tmp_path)
