"""A hundred pages, ten at a time, each fetched by a step of its own.

    python examples/guide/side_by_side.py

Halfway the runtime is left. The next one fetches what is missing, and nothing else.
"""

import asyncio
import tempfile
from pathlib import Path

from everstep import Actor, Retry, Runtime, exponential, step


class Crawl(Actor):
    urls: list[str]
    at_once: int = 10

    async def run(self) -> dict[str, int]:
        free = asyncio.Semaphore(self.at_once)

        async def size_of(url: str) -> int:
            async with free:
                return await self.fetch(url)

        sizes = await asyncio.gather(*(size_of(url) for url in self.urls))
        return dict(zip(self.urls, sizes, strict=True))

    @step(key="url", retry=Retry(max_attempts=5, backoff=exponential(0.5, maximum=30)), timeout=10)
    async def fetch(self, url: str) -> int:
        return len(await web.get(url))


class Web:
    """Stands for the web: counts what is asked for, and how much of it at the same moment."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.present = 0
        self.most = 0
        self.half = asyncio.Event()

    async def get(self, url: str) -> bytes:
        self.asked.append(url)
        self.present += 1
        self.most = max(self.most, self.present)
        try:
            await asyncio.sleep(0.001)
        finally:
            self.present -= 1
        if len(self.asked) >= 50:
            self.half.set()
        return b"x" * len(url)


web = Web()
URLS = [f"https://example.org/{number}" for number in range(100)]


async def half(path: Path) -> int:
    """Leave the runtime in the middle; how many pages had been asked for."""
    async with Runtime(path, grace=0) as runtime:
        await runtime.start(Crawl(urls=URLS), id="crawl")
        await web.half.wait()
    return len(web.asked)


async def rest(path: Path) -> dict[str, int]:
    async with Runtime(path) as runtime:
        task = await runtime.start(Crawl(urls=URLS), id="crawl")
        return await task.result()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tasks.db"
        first = asyncio.run(half(path))
        print(f"the first runtime asked for {first} pages, at most {web.most} at once")
        sizes = asyncio.run(rest(path))
        print(f"the second one for {len(web.asked) - first}; {len(sizes)} pages are there")


if __name__ == "__main__":
    main()
