"""What a step can say about its attempts."""

import asyncio
from collections.abc import AsyncIterator

from everstep import Actor, Pool, Restart, Retry, StepFailed, exponential, step


async def pages_of(topic: str) -> AsyncIterator[str]:
    """Stands for a slow source."""
    for number in range(3):
        await asyncio.sleep(0)
        yield f"page {number} on {topic}"


async def ask(model: str, question: str) -> str:
    """Stands for a language model; the big one is down."""
    if model == "big":
        raise TimeoutError("the big model does not answer")
    return f"{question}, says the {model} model"


class Survey(Actor):
    topic: str
    pages: list[str] = []
    chart: str = ""

    @step(heartbeat=30, timeout=3600)
    async def read(self) -> None:
        async for page in pages_of(self.topic):
            self.pages.append(page)
            self.ctx.heartbeat()

    @step
    def draw(self) -> None:
        self.chart = "▁▃▅"[: len(self.pages)]

    @step(
        retry=Retry(
            max_attempts=5,
            backoff=exponential(0.5, maximum=60),
            give_up_on=(PermissionError,),
            max_elapsed=600,
        ),
        timeout=20,
    )
    async def send(self) -> str:
        return f"{self.topic} {self.chart}"


class Careful(Actor):
    question: str

    async def run(self) -> str:
        try:
            return await self.ask_big()
        except StepFailed as failed:
            if not failed.is_a(TimeoutError):
                raise
        return await self.ask_small()

    @step(retry=Retry(max_attempts=2, backoff=exponential(0.01)))
    async def ask_big(self) -> str:
        return await ask("big", self.question)

    @step
    async def ask_small(self) -> str:
        return await ask("small", self.question)


PATIENT = Pool(
    max_running=50,
    restart=Restart(5, backoff=exponential(1, maximum=60), on_give_up="pause"),
)
