"""Actors that write to streams, and what reads them."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from everstep import Actor, Piece, Retry, Stream, Task, fixed, step
from tests.runtime.kit import Gate


class Talker(Actor, name="streams.Talker"):
    """Writes words in its first step, which stops at the gate after each, and ends when told."""

    gate: ClassVar[Gate] = Gate()
    failures: ClassVar[int] = 0
    last: ClassVar[Stream | None] = None

    words: list[str]

    @step(retry=Retry(max_attempts=100, backoff=fixed(0), jitter="none"))
    async def talk(self) -> None:
        stream = self.ctx.stream("words")
        for word in self.words:
            stream.write(word)
            await self.gate.stop_at(f"{word} {self.ctx.attempt}")
        Talker.last = stream
        if Talker.failures:
            Talker.failures -= 1
            raise ConnectionError("the line is dead")

    @step
    async def rest(self) -> str:
        return "done"


class Quick(Actor, name="streams.Quick"):
    """A plan of one step that writes and is over."""

    count: int = 3

    @step
    async def talk(self) -> str:
        stream = self.ctx.stream("words")
        for number in range(self.count):
            stream.write(number)
        return "done"


class Chorus(Actor, name="streams.Chorus"):
    """Two steps at once write to one stream, one of them from a thread."""

    @step
    async def high(self) -> None:
        stream = self.ctx.stream("words")
        for number in range(5):
            stream.write(["high", number])
            await stream.drain()

    @step
    def low(self) -> None:
        for number in range(2000):
            self.ctx.stream("words").write(["low", number])

    async def run(self) -> None:
        await asyncio.gather(self.high(), self.low())


async def pieces(task: Task[Any], name: str = "words", **options: Any) -> list[Piece]:
    return [piece async for piece in task.stream(name, **options)]


async def pieces_until(task: Task[Any], count: int, **options: Any) -> list[Piece]:
    """Follow the stream until so many pieces have come."""
    seen: list[Piece] = []
    async for piece in task.stream("words", follow=True, **options):
        seen.append(piece)
        if len(seen) == count:
            break
    return seen


def told(found: list[Piece]) -> list[tuple[Any, int, bool]]:
    """What the pieces say, and of which attempt they are."""
    return [(piece.data, piece.attempt, piece.first) for piece in found]
