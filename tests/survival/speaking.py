"""A task that writes to a stream, and a reader who puts together what counts of it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.step import step
from everstep.piece_stream import Piece
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note
from tests.survival.host import living

__all__ = ["SPOKEN", "speak"]

WORDS = 6
SPOKEN = {"talk": list(range(WORDS)), "sing": list(range(WORDS))}


class Speaker(Actor):
    """Speaks in two steps, and makes sure of the first half of what it says in each."""

    @step
    async def talk(self) -> None:
        await self._speak("talk")

    @step
    async def sing(self) -> None:
        await self._speak("sing")

    async def _speak(self, what: str) -> None:
        note("executed")
        words = self.ctx.stream("words")
        for number in range(WORDS):
            words.write(number)
            boundary(f"{what} {number}")
            if number == WORDS // 2 - 1:
                await words.drain()
                boundary(f"{what} drained")


async def speak(life: Life) -> dict[str, Any]:
    """Live it to its end; what a reader has who forgets what is void."""
    async with living(life, restart=Restart(3, max_deaths=100)) as runtime:
        task = await runtime.start(Speaker(), id="speaker")
        pieces = [piece async for piece in task.stream("words", follow=True)]
        await task.result()
        _check(pieces)
        assert pieces[4:] == [piece async for piece in task.stream("words", after=4)]
        heard: dict[str, list[Any]] = {}
        for piece in pieces:
            heard[piece.step] = [*([] if piece.first else heard[piece.step]), piece.data]
        return heard


def _check(pieces: list[Piece]) -> None:
    """Offsets have no gaps, and each attempt's pieces are the beginning of what it says."""
    assert [piece.offset for piece in pieces] == list(range(1, len(pieces) + 1))
    attempts: dict[tuple[str, int], list[Piece]] = defaultdict(list)
    for piece in pieces:
        attempts[piece.step, piece.attempt].append(piece)
    for said in attempts.values():
        assert [piece.data for piece in said] == list(range(len(said)))
        assert [piece.first for piece in said] == [True, *[False] * (len(said) - 1)]
