"""A flow that goes on for ever, in chapters."""

from everstep import Actor, step


class Meter(Actor):
    until: int
    total: int = 0

    async def run(self) -> int:
        for _ in range(100):
            await self.read()
            if self.total >= self.until:
                return self.total
        return self.ctx.again()

    @step
    async def read(self) -> None:
        self.total += 1
