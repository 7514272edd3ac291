"""A plan: steps that run in the order in which they are written."""

import asyncio
import sys
from pathlib import Path

from everstep import Actor, Retry, Runtime, exponential, step


async def search(topic: str) -> list[str]:
    """Stands for a search in a library."""
    return [f"{topic} in the handbook", f"{topic} in the law"]


async def ask_model(sources: list[str]) -> str:
    """Stands for a language model."""
    return " and ".join(sources)


class Report(Actor):
    topic: str
    sources: list[str] = []
    summary: str = ""

    @step
    async def load(self) -> None:
        self.sources = await search(self.topic)

    @step(retry=Retry(max_attempts=5, backoff=exponential(0.2, maximum=30)), timeout=60)
    async def summarise(self) -> None:
        self.summary = await ask_model(self.sources)

    @step
    async def publish(self) -> str:
        return f"Report on {self.topic}: {self.summary}"


async def main(path: Path) -> None:
    async with Runtime(path) as runtime:
        task = await runtime.start(Report(topic="refunds"), id="report-7")
        print(await task.result())


async def look(path: Path) -> None:
    """What can be asked of a task, while it runs or long after."""
    async with Runtime(path) as runtime:
        task = runtime.task("report-7", Report)
        info = await task.status()
        print(info.id, info.status)
        for done in await task.steps():
            print(done.name, done.outcome, done.executions)
        async for event in task.events():
            print(event.number, event.kind, event.step or "")


async def start_all(path: Path, topics: list[str]) -> list[str]:
    """Start a report on each topic, unless it was started before, and wait for all."""
    async with Runtime(path) as runtime:
        reports = (Report(topic=topic) for topic in topics)
        tasks = await runtime.start_many(reports, ids=(f"report-{topic}" for topic in topics))
        return [await task.result() for task in tasks]


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
    asyncio.run(look(Path(sys.argv[1])))
