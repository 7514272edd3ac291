"""A parent and its child, for the tests of children."""

from __future__ import annotations

from typing import ClassVar

import pytest

from everstep import Actor, Retry, Runtime, step
from everstep.storage.kin import Asks, Straggler
from tests.runtime.kit import Gate

__all__ = ["Parent", "Square", "forsake", "fresh_family", "stragglers"]


class Square(Actor, name="children.Square"):
    """Returns the square of its number, when the test lets it."""

    gate: ClassVar[Gate] = Gate()
    begun: ClassVar[list[int]] = []
    mended: ClassVar[bool] = False

    number: int
    stops: bool = False

    async def run(self) -> int:
        return await self.square()

    @step(retry=Retry(1, give_up_on=(ValueError,)))
    async def square(self) -> int:
        Square.begun.append(self.number)
        if self.number < 0 and not Square.mended:
            raise ValueError("no root")
        if self.stops:
            await Square.gate.stop_at(str(self.number))
        return self.number**2


class Parent(Actor, name="children.Parent"):
    """Starts one child and waits for it."""

    begun: ClassVar[int] = 0

    number: int = 3
    stops: bool = True

    async def run(self) -> int:
        Parent.begun += 1
        stops = self.stops and self.number >= 0
        child = await self.ctx.start(Square(number=self.number, stops=stops))
        return await child.result() + 1


async def stragglers(runtime: Runtime) -> list[Straggler]:
    """Children that have not followed their parents yet, a few of them."""
    session = runtime._open()  # pyright: ignore[reportPrivateUsage]  # not public
    pages = [await session.store.stragglers(asks, limit=9) for asks in Asks]
    return [child for page in pages for _, child in page]


async def forsake(runtime: Runtime) -> None:
    """From now on no child follows its parent, as if the process died first."""
    await runtime._open().shepherd.stop()  # pyright: ignore[reportPrivateUsage]  # not public


@pytest.fixture(autouse=True)
def fresh_family() -> None:
    """Nobody has begun, and every gate is shut."""
    Square.gate = Gate()
    Square.begun = []
    Square.mended = False
    Parent.begun = 0
