"""Messages, and an actor that takes them."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from everstep import Actor, step


class Order(BaseModel):
    number: int


class Refund(BaseModel):
    number: int


class Clerk(Actor, name="messages.Clerk"):
    """Takes so many orders, one after the other."""

    orders: int
    seen: list[int] = []

    begun: ClassVar[int] = 0

    async def run(self) -> list[int]:
        Clerk.begun += 1
        for _ in range(self.orders):
            await self.enter(await self.ctx.receive(Order))
        return self.seen

    @step
    async def enter(self, order: Order) -> None:
        self.seen.append(order.number)
