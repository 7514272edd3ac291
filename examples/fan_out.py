"""A book translated by one child for each chapter, four at a time; the parent waits out of memory.

    python examples/fan_out.py

Halfway the runtime is left. The next one finds the children that there are, and translates what
is missing.
"""

import asyncio
import tempfile
from pathlib import Path

from everstep import Actor, Runtime, step


class Chapter(Actor):
    title: str

    async def run(self) -> str:
        return await self.translate()

    @step
    async def translate(self) -> str:
        return await translator.translate(self.title)


class Book(Actor):
    titles: list[str]

    async def run(self) -> list[str]:
        first = await self.ctx.start(Chapter(title="Preface"))
        chapters = await self.ctx.map(lambda title: Chapter(title=title), self.titles, limit=4)
        rest = await self.ctx.gather(Chapter(title="Notes"), Chapter(title="Index"), limit=2)
        return [await first.result(), *chapters, *rest]


class Translator:
    """Stands for a service: counts what it is asked for, and how much of it at the same moment."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.present = 0
        self.most = 0
        self.half = asyncio.Event()

    async def translate(self, text: str) -> str:
        self.asked.append(text)
        self.present += 1
        self.most = max(self.most, self.present)
        try:
            await asyncio.sleep(0.001)
        finally:
            self.present -= 1
        if len(self.asked) >= 10:
            self.half.set()
        return text.upper()


translator = Translator()
TITLES = [f"Chapter {number}" for number in range(1, 21)]


async def half(path: Path) -> int:
    """Leave the runtime in the middle; how much had been asked for."""
    async with Runtime(path, grace=0) as runtime:
        await runtime.start(Book(titles=TITLES), id="book")
        await translator.half.wait()
    return len(translator.asked)


async def rest(path: Path) -> list[str]:
    async with Runtime(path) as runtime:
        task = await runtime.start(Book(titles=TITLES), id="book")
        texts = await task.result()
        children = await runtime.tasks(parent="book")
        print(f"{len(children)} children, all {', '.join({child.status for child in children})}")
        return texts


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tasks.db"
        first = asyncio.run(half(path))
        print(f"the first runtime asked for {first} texts, at most {translator.most} at once")
        texts = asyncio.run(rest(path))
        print(f"the second one for {len(translator.asked) - first}; {len(texts)} texts are there")


if __name__ == "__main__":
    main()
