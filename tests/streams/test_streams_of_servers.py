"""Handlers and lazy steps write to streams like any step."""

from __future__ import annotations

from typing import ClassVar

from everstep import Actor, handler, step
from tests.runtime.kit import Gate, Place
from tests.streams.talkers import pieces, pieces_until


class Speaker(Actor, name="streams.Speaker"):
    """Says each letter of what it is told."""

    @handler
    async def say(self, text: str) -> int:
        stream = self.ctx.stream("letters")
        for letter in text:
            stream.write(letter)
        return len(text)


class Lazy(Actor, name="streams.Lazy"):
    """Writes in a step whose checkpoint waits for the next write."""

    gate: ClassVar[Gate] = Gate()

    @step(checkpoint="lazy")
    async def talk(self) -> None:
        self.ctx.stream("words").write("soon")

    async def run(self) -> None:
        await self.talk()
        await self.gate.stop_at("after")


async def test_the_pieces_of_each_message_are_told_apart_by_its_id(place: Place) -> None:
    async with place.runtime() as runtime:
        speaker = runtime.get(Speaker, "s")
        await speaker.ask(Speaker.say, "ab", request_id="one")
    async with place.runtime() as runtime:
        speaker = runtime.get(Speaker, "s")
        await speaker.ask(Speaker.say, "c", request_id="two")
        found = await pieces(speaker.task, "letters")

    assert [(piece.offset, piece.data, piece.first) for piece in found] == [
        (1, "a", True),
        (2, "b", False),
        (3, "c", True),
    ]
    assert ["one" in piece.step for piece in found] == [True, True, False]


async def test_pieces_of_a_lazy_step_do_not_wait_for_its_checkpoint(place: Place) -> None:
    Lazy.gate = Gate()
    async with place.runtime() as runtime:
        task = await runtime.start(Lazy())
        await Lazy.gate.until("after")

        assert [piece.data for piece in await pieces_until(task, 1)] == ["soon"]
        Lazy.gate.open("after")
        await task.result()
