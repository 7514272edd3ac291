"""What to do with an effect of which nobody knows whether it happened, and no probe."""

from everstep import Actor, step
from examples.payment import charge


class Unsure(Actor):
    bank: str

    @step
    async def pay(self) -> str:
        operation = self.ctx.operation_id("pay")
        return await self.ctx.once("pay", charge, self.bank, "invoice-1", 4200, operation)


class Insisting(Actor):
    bank: str

    @step
    async def pay(self) -> str:
        operation = self.ctx.operation_id("pay")
        return await self.ctx.once(
            "pay", charge, self.bank, "invoice-1", 4200, operation, on_unknown="retry"
        )


class Strict(Actor):
    bank: str

    @step
    async def pay(self) -> str:
        operation = self.ctx.operation_id("pay")
        return await self.ctx.once(
            "pay", charge, self.bank, "invoice-1", 4200, operation, on_unknown="fail"
        )
