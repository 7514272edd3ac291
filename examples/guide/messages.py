"""Messages: an order that may be changed until it is sent."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from everstep import Actor, Runtime, WaitTimeout, step


class Add(BaseModel):
    article: str


class Pack(BaseModel):
    order: str
    articles: list[str]


class Order(Actor):
    articles: list[str] = []

    async def run(self) -> int:
        try:
            while True:
                added = await self.ctx.receive(Add, timeout=timedelta(hours=1))
                await self.add(added.article)
        except WaitTimeout:
            await self.send_on()
        return len(self.articles)

    @step
    async def add(self, article: str) -> None:
        self.articles.append(article)

    @step
    async def send_on(self) -> None:
        await self.ctx.send("warehouse", Pack(order=self.ctx.task_id, articles=self.articles))


class Warehouse(Actor):
    async def run(self) -> str:
        pack = await self.ctx.receive(Pack)
        return f"{pack.order}: {', '.join(pack.articles)}"


async def main(path: Path) -> None:
    async with Runtime(path) as runtime:
        await runtime.start(Warehouse(), id="warehouse")
        order = await runtime.start(Order(), id="order-1")
        await order.send(Add(article="tea"), id="click-1")
        await runtime.task("order-1").send(Add(article="cups"), id="click-2")
        async for event in order.events(follow=True):
            if event.kind == "step_completed":
                print(event.step)
                if (await order.state(Order)).articles == ["tea", "cups"]:
                    break


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "orders.db")))
