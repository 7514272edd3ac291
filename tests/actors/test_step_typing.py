"""What type checkers know of actors and steps. This file itself is checked by both, strictly."""

import asyncio
import textwrap
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, assert_type

import pytest

from everstep.actors.actor import Actor
from everstep.actors.log import Log
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.actors.upcast import upcast
from tests.typing_kit import check_that_mypy_finds

T = TypeVar("T")


class Report(Actor, name="report", version=2):
    topic: str
    sources: list[str] = []
    notes: Log[str] = Log()

    @step
    async def load(self, url: str, *, times: int = 1) -> list[str]:
        return [url] * times

    @step(retry=Retry(max_attempts=5), timeout=timedelta(seconds=3), key=lambda url: url)
    async def keyed(self, url: str) -> Self:
        return self

    @step
    def sync(self, number: int) -> bytes:
        return bytes(number)

    @step(checkpoint="lazy", thread=True)
    def lazy(self) -> None: ...

    @step
    async def generic(self, item: T) -> T:
        return item

    @upcast(1)
    @staticmethod
    def lift(state: dict[str, Any]) -> dict[str, Any]:
        return state


class Better(Report):
    @step(timeout=3)
    async def load(self, url: str, *, times: int = 2) -> list[str]:
        return await super().load(url, times=times)


class Box(Actor, Generic[T]):
    content: T

    @step
    async def get(self) -> T:
        return self.content


class IntBox(Box[int]):
    pass


async def use(report: Report, box: IntBox) -> None:
    """Never called: what the checkers make of it is the test."""
    assert_type(await report.load("u", times=2), list[str])
    assert_type(await report.keyed("u"), Report)
    assert_type(await report.sync(3), bytes)
    assert_type(await report.generic(3), int)
    assert_type(await box.get(), int)
    coroutine: Coroutine[None, None, bytes] = report.sync(1)
    assert_type(await coroutine, bytes)
    found = await asyncio.gather(report.sync(1), report.load("u"))
    assert_type(found, tuple[bytes, list[str]])
    method: Callable[[Report, int], Coroutine[None, None, bytes]] = Report.sync
    del method
    assert_type(report.notes[0], str)
    assert_type(report.notes[1:], list[str])
    report.notes.append("x")
    for note in report.notes:
        assert_type(note, str)
    assert_type(IntBox(content=1).content, int)


BEFORE = """
from everstep.actors.actor import Actor
from everstep.actors.log import Log
from everstep.actors.step import step

class Report(Actor):
    topic: str
    notes: Log[str] = Log()

    @step
    async def load(self, url: str) -> list[str]:
        return [url]

    @step(timeout=3)
    def sync(self, number: int) -> bytes:
        return bytes(number)

"""

WRONG = {
    "an argument of another type": "async def f(r: Report) -> None:\n    await r.load(3)",
    "an argument too many": "async def f(r: Report) -> None:\n    await r.load('u', 1)",
    "a sync step that is not awaited": "def f(r: Report) -> bytes:\n    return r.sync(1)",
    "an async step that is not awaited": "async def f(r: Report) -> None:\n    r.load('u')",
    "an unknown option": "class R(Actor):\n    @step(time=3)\n    async def x(self) -> None: ...",
    "a checkpoint that there is not": (
        "class R(Actor):\n    @step(checkpoint='x')\n    async def load(self) -> None: ..."
    ),
    "an override that does not fit": (
        "class R(Report):\n    @step\n    async def load(self, url: int) -> list[str]:\n"
        "        return []"
    ),
    "an item of another type": "def f(r: Report) -> None:\n    r.notes.append(1)",
    "a log that is assigned into": "def f(r: Report) -> None:\n    r.notes[0] = 'x'",
    "a field that there is not": "Report(topic='x', other=1)",
}


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_what_is_wrong_is_reported_by_mypy(tmp_path: Path) -> None:
    wrong = {what: textwrap.dedent(body) for what, body in WRONG.items()}

    check_that_mypy_finds(wrong, BEFORE, tmp_path)
