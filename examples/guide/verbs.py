"""What `self.ctx` answers, and that a replay hears the same."""

from datetime import datetime

from everstep import Actor, step


async def look_up(city: str) -> int:
    """A function that knows nothing of everstep."""
    return len(city)


class Travel(Actor):
    async def run(self) -> str:
        began: datetime = self.ctx.now()
        lucky = self.ctx.random() < 0.5
        booking = self.ctx.uuid()
        degrees = await self.ctx.step(look_up, "Oslo", name="weather")
        self.ctx.emit("weather_known", {"degrees": degrees})
        self.ctx.log.info("booking %s, begun %s, lucky: %s", booking, began, lucky)
        return await self.book(str(booking))

    @step
    async def book(self, booking: str) -> str:
        self.ctx.emit("booked", {"attempt": self.ctx.attempt})
        return f"{self.ctx.task_id}: {booking}"
