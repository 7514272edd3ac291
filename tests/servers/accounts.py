"""Servers that the tests ask."""

from __future__ import annotations

from typing import ClassVar

from everstep import Actor, Log, Retry, handler, step
from everstep.actors.backoff import none
from tests.runtime.kit import Gate

AT_ONCE = Retry(max_attempts=3, backoff=none())


class Account(Actor, name="servers.Account"):
    """Money that is paid in and out."""

    balance: int = 0
    owner: str = "nobody"
    handled: ClassVar[list[str]] = []
    gate: ClassVar[Gate] = Gate()
    wakings: ClassVar[int] = 0

    def model_post_init(self, _: object, /) -> None:
        Account.wakings += 1

    @handler
    async def pay_in(self, amount: int, *, note: str = "") -> int:
        Account.handled.append(note or f"in {amount}")
        self.balance += amount
        return self.balance

    @handler
    def pay_out(self, amount: int) -> int:
        """In a thread."""
        self.balance -= amount
        return self.balance

    @handler(retry=AT_ONCE)
    async def break_down(self, after: int) -> None:
        self.balance += after
        raise ValueError("no money left")

    @handler(retry=Retry(max_attempts=1), on_failure="crash")
    async def crash(self) -> str:
        Account.handled.append("crash")
        if Account.handled.count("crash") < 3:
            raise OSError("not yet")
        return "at last"

    @handler
    async def slowly(self, name: str) -> str:
        await self.gate.stop_at(name)
        self.owner = name
        return name

    @handler(readonly=True)
    async def look(self) -> int:
        return self.balance

    @handler(readonly=True)
    async def look_slowly(self, name: str) -> str:
        await self.gate.stop_at(name)
        return self.owner

    @handler(readonly=True)
    async def spoil(self) -> None:
        self.balance = -1


class Chat(Actor, name="servers.Chat"):
    """What was said, kept for good."""

    said: Log[str] = Log()

    @handler
    async def say(self, text: str) -> int:
        return await self.keep(text)

    @step
    async def keep(self, text: str) -> int:
        self.said.append(text)
        return len(self.said)

    @handler(readonly=True)
    async def all(self) -> list[str]:
        return list(self.said)


class Named(Actor, name="servers.Named"):
    """One that cannot be made of defaults."""

    name: str

    @handler
    async def called(self) -> str:
        return self.name


class Forwarding(Actor, name="servers.Forwarding"):
    """Sends on what it is told, with the commit of that."""

    count: int = 0

    @handler
    async def forward(self, to: str, text: str) -> int:
        self.count += 1
        await self.ctx.send(to, text)
        return self.count
