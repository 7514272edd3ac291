"""The README's first piece of code, with a world around it."""

import asyncio

from everstep import Actor, Done, NotDone, Retry, Runtime, exponential, step

SENT: dict[str, list[str]] = {}


async def search(topic: str) -> list[str]:
    """Stands for a search."""
    return [f"the law on {topic}"]


async def send_mail(lines: list[str], operation: str) -> str:
    """Stands for a mail API that takes an idempotency key."""
    SENT[operation] = lines
    return f"sent {len(lines)} line"


async def find_mail(operation: str) -> Done[str] | NotDone:
    return Done("found") if operation in SENT else NotDone()


class Report(Actor):
    topic: str
    sources: list[str] = []

    @step(retry=Retry(max_attempts=5, backoff=exponential(0.2, maximum=30)), timeout=60)
    async def load(self) -> None:
        self.sources = await search(self.topic)

    @step
    async def publish(self) -> str:
        operation = self.ctx.operation_id("mail")  # the mail API's idempotency key
        return await self.ctx.once("mail", send_mail, self.sources, operation, probe=find_mail)


async def main() -> None:
    async with Runtime("tasks.db") as runtime:
        task = await runtime.start(Report(topic="refunds"), id="report-7")
        print(await task.result())


if __name__ == "__main__":
    asyncio.run(main())
