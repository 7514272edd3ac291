"""Servers that are in memory are told without a look into the store, and answer with one commit."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from everstep import Actor, Pool, Runtime, handler, step
from everstep.storage import Commit, Draft, MailboxFull, MemoryStore, Recipient, Request, Write
from everstep.testing import ManualClock
from tests.runtime.kit import ONCE, Gate, Place, next_event
from tests.servers.accounts import Account


class Counting(MemoryStore):
    """Counts the commits of tasks, and the looks at receivers and replies."""

    commits = looks = 0

    def submit(self, draft: Draft) -> None:
        super().submit(_Counted(self, draft))

    async def recipient(self, task_id: str) -> Recipient | None:
        self.looks += 1
        return await super().recipient(task_id)

    async def request(self, key: int, message: str) -> Request:
        self.looks += 1
        return await super().request(key, message)


class _Counted:
    def __init__(self, store: Counting, draft: Draft) -> None:
        self._store = store
        self._draft = draft
        self.settle = draft.settle

    def seal(self) -> Write | None:
        sealed = self._draft.seal()
        self._store.commits += isinstance(sealed, Commit)
        return sealed


class Player(Actor, name="near.Player"):
    """Plays the ball back until it has been played so many times."""

    over: ClassVar[asyncio.Event]

    @handler
    async def ball(self, other: str, left: int) -> None:
        if left:
            await self.ctx.get(Player, other).tell(Player.ball, self.ctx.task_id, left - 1)
        else:
            Player.over.set()

    @handler
    async def rests(self) -> None:
        """All that came before is committed when this is replied to."""


class Pusher(Actor, name="near.Pusher"):
    """Pays in one after the other, until there is no room for more."""

    sent: int = 0

    @step(retry=ONCE)
    async def pay(self) -> bool:
        try:
            await self.ctx.get(Account, "ann").tell(Account.pay_in, 1)
        except MailboxFull:
            return False
        return True

    async def run(self) -> int:
        while await self.pay():
            self.sent += 1
        return self.sent


async def play(runtime: Runtime, balls: int) -> None:
    Player.over = asyncio.Event()
    await runtime.get(Player, "ann").tell(Player.ball, "bob", balls - 1)
    await Player.over.wait()


async def test_a_message_between_servers_in_memory_costs_one_commit_and_no_look() -> None:
    clock = ManualClock()
    store = Counting(clock=clock)
    async with Runtime(":memory:", store=store, clock=clock, tree=Pool()) as runtime:
        await play(runtime, 2)
        for name in ("ann", "bob"):
            await runtime.get(Player, name).ask(Player.rests)
        store.commits = store.looks = 0

        await play(runtime, 10)
        for name in ("ann", "bob"):
            await runtime.get(Player, name).ask(Player.rests)

        assert (store.commits, store.looks) == (10 + 2, 0)


async def test_the_bound_of_a_mailbox_holds_for_one_that_is_in_memory(place: Place) -> None:
    Account.handled, Account.gate = [], Gate()
    async with place.runtime(mailbox=3) as runtime:
        account = runtime.get(Account, "ann")
        await account.tell(Account.slowly, "one")
        await Account.gate.until("one")

        assert await (await runtime.start(Pusher())).result() == 2

        Account.gate.open("one")
        await next_event(account.task, "task_waiting")
    assert Account.handled == ["in 1", "in 1"]
