"""Accounts that are servers, and transfers between them that are asked for again after a death."""

from __future__ import annotations

import asyncio
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.failures import HandlerFailed
from everstep.actors.handler import handler
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.runtime import Runtime
from everstep.server import Server
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note
from tests.survival.host import living

__all__ = ["BALANCES", "bank", "standing_orders"]

_PATIENTLY = Retry(max_attempts=100, backoff=none(), give_up_on=(ArithmeticError,))
_NAMES = ("ann", "bob", "cid")
_TRANSFERS = (("ann", "bob", 30), ("bob", "cid", 50), ("cid", "ann", 500), ("bob", "ann", 80))
BALANCES = {"ann": 150, "bob": 0, "cid": 150}


class Account(Actor, name="survival.Account"):
    balance: int = 100
    moves: list[int] = []

    @handler(retry=_PATIENTLY)
    async def move(self, amount: int) -> int:
        note("executed")
        boundary(f"in {amount}")
        if self.balance + amount < 0:
            raise ArithmeticError("not enough money")
        self.balance = await self.added(amount)
        self.moves.append(amount)
        boundary(f"moved {amount}")
        return self.balance

    @step(retry=_PATIENTLY)
    async def added(self, amount: int) -> int:
        boundary(f"adding {amount}")
        return self.balance + amount

    @handler(readonly=True, retry=_PATIENTLY)
    async def look(self) -> tuple[int, list[int]]:
        boundary("looking")
        return self.balance, self.moves


async def bank(life: Life, idle_after: float) -> dict[str, Any]:
    """Live it until all transfers are made; every life asks for all of them again."""
    restart = Restart(3, max_deaths=1000)
    async with living(life, restart=restart, idle_after=idle_after) as runtime:
        accounts = {name: runtime.get(Account, name) for name in _NAMES}
        replies: list[Any] = []
        for number, (payer, payee, amount) in enumerate(_TRANSFERS):
            replies.append(await _transfer(accounts[payer], accounts[payee], amount, f"t{number}"))
        await _pay_all_at_once(runtime)
        found = await asyncio.gather(*(accounts[name].ask(Account.look) for name in _NAMES))
        balances = dict(zip(_NAMES, (balance for balance, _ in found), strict=True))
        return {
            "replies": replies,
            "balances": balances,
            "moves": [sorted(moves) for _, moves in found],
        }


async def _transfer(
    payer: Server[Account], payee: Server[Account], amount: int, name: str
) -> list[Any]:
    """Take the money and give it, each once, however often this is called."""
    try:
        left = await payer.ask(Account.move, -amount, request_id=f"{name} out")
    except HandlerFailed as failed:
        return [failed.failure.message]
    boundary("the money is under way")
    return [left, await payee.ask(Account.move, amount, request_id=f"{name} in")]


async def _pay_all_at_once(runtime: Runtime) -> None:
    accounts = [runtime.get(Account, name) for name in ("ann", "cid")]
    await asyncio.gather(
        *(
            _transfer(accounts[0], accounts[1], amount, f"at once {amount}")
            for amount in (5, 10, 15)
        ),
        *(_transfer(accounts[1], accounts[0], amount, f"back {amount}") for amount in (6, 24)),
    )


class StandingOrder(Actor, name="survival.StandingOrder"):
    """A flow that moves money between accounts, and hears what became of it."""

    payer: str
    payee: str
    amounts: list[int]

    async def run(self) -> list[Any]:
        heard: list[Any] = []
        for amount in self.amounts:
            try:
                await self.ctx.get(Account, self.payer).ask(Account.move, -amount)
            except HandlerFailed as failed:
                heard.append(failed.failure.message)
                continue
            boundary("the money is under way")
            payee = self.ctx.get(Account, self.payee)
            heard.append(await payee.ask(Account.move, amount, timeout=100_000))
        await self.ctx.get(Account, "charity").tell(Account.move, len(heard))
        return heard


async def standing_orders(life: Life, idle_after: float) -> dict[str, Any]:
    """Live it until all orders are done."""
    restart = Restart(3, max_deaths=1000)
    async with living(life, restart=restart, idle_after=idle_after) as runtime:
        orders = {
            "first": StandingOrder(payer="ann", payee="bob", amounts=[30, 500, 20]),
            "second": StandingOrder(payer="cid", payee="dan", amounts=[100, 1]),
        }
        tasks = [await runtime.start(order, id=name) for name, order in orders.items()]
        heard = {task.id: await task.result() for task in tasks}
        await runtime.get(Account, "charity").ask(Account.move, 0, request_id="last")
        names = ("ann", "bob", "cid", "dan", "charity")
        found = {name: (await runtime.get(Account, name).ask(Account.look))[0] for name in names}
        return {**heard, "balances": found}
