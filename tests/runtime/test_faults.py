"""A fault of the interpreter, such as a MemoryError, at whatever place: half of nothing is kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest

from everstep import Actor, Log, Retry, StepFailed, TaskPaused, none, step
from everstep.actors.environment import Environment
from everstep.actors.ledger import Ledger
from everstep.commits import Commits
from everstep.testing import ManualClock
from tests.runtime.kit import Place, kinds

ENDS = ("step_completed", "step_failed", "step_cut", "step_cancelled")
SOON = Retry(backoff=none())


class Faulty(ManualClock):
    """Raises once, when an actor's own machinery has asked it so many times from `left` on."""

    left = 0

    def now(self) -> float:
        asking = sys._getframe(1).f_globals["__name__"]  # pyright: ignore[reportPrivateUsage]
        if asking.startswith("everstep.actors."):
            self.left -= 1
            if self.left == 0:
                raise MemoryError
        return super().now()


class Faulted(Actor, name="faults.Faulted"):
    """Meets a fault in its first life."""

    clock: ClassVar[Faulty]
    fault: ClassVar[int]

    seen: int = 0
    places: Log[str] = Log()

    def meet(self) -> None:
        self.clock.left, Faulted.fault = self.fault, 0


class Travelling(Faulted, name="faults.Travelling"):
    """Changes its state in `run` and in steps, one within another."""

    @step(retry=SOON)
    async def go(self, where: str) -> None:
        self.places.append(where)
        await self.look()

    @step(retry=SOON)
    async def look(self) -> None:
        self.seen += 1

    async def run(self) -> tuple[int, list[str]]:
        self.meet()
        self.places.append("home")
        await self.go("Bergen")
        self.seen += 10
        await self.go("Oslo")
        self.places.append("home")
        return self.seen, list(self.places)


class Listening(Faulted, name="faults.Listening"):
    """Leaves memory for each message, which the step after it answers."""

    @step(retry=SOON)
    async def hear(self, what: str) -> None:
        self.places.append(what)

    async def run(self) -> tuple[int, list[str]]:
        self.meet()
        for _ in range(2):
            await self.hear(await self.ctx.receive(str))
            self.seen += 1
        return self.seen, list(self.places)


class Turning(Faulted, name="faults.Turning"):
    """Three chapters."""

    async def run(self) -> tuple[int, list[str]]:
        if not self.seen:
            self.meet()
        self.seen += 1
        self.places.append(str(self.seen))
        return (self.seen, list(self.places)) if self.seen == 3 else self.ctx.again()


class Failing(Faulted, name="faults.Failing"):
    """Goes on after a step that has failed for good."""

    @step(retry=Retry(max_attempts=2, backoff=none()))
    async def fail(self) -> None:
        self.places.append("nowhere")
        raise OSError("no way")

    async def run(self) -> tuple[int, list[str]]:
        self.meet()
        try:
            await self.fail()
        except StepFailed as failed:
            self.places.append(failed.failure.message)
        return self.seen, list(self.places)


RESULTS: list[tuple[type[Faulted], tuple[int, list[str]]]] = [
    (Travelling, (12, ["home", "Bergen", "Oslo", "home"])),
    (Listening, (2, ["a", "b"])),
    (Turning, (3, ["1", "2", "3"])),
    (Failing, (0, ["no way"])),
]


def places(given: Place, folder: Path) -> Iterator[Place]:
    for number in count():
        yield Place(None if given.path is None else folder / f"tasks{number}.db")


@pytest.mark.parametrize(("kind", "expected"), RESULTS)
async def test_a_task_ends_as_if_a_fault_had_not_been(
    place: Place, tmp_path: Path, kind: type[Faulted], expected: tuple[int, list[str]]
) -> None:
    """At each reading of the clock, from the beginning of `run` to its end."""
    crashes = 0
    for number, here in enumerate(places(place, tmp_path), start=1):
        here.clock = Faulted.clock = Faulty()
        Faulted.fault = number
        async with here.runtime(clock=here.clock, idle_after=0) as runtime:
            task = await runtime.start(kind())
            for message in ("a", "b") if kind is Listening else ():
                await task.send(message)
            result = await task.result()
            written = await kinds(task)
        here.discard()
        assert tuple(result) == expected, number
        assert written.count("step_started") == sum(map(written.count, ENDS)), (number, written)
        crashes += written.count("task_crashed")
        if here.clock.left > 0:
            break
    assert crashes > 3


class Stumbling(Actor, name="faults.Stumbling"):
    """Crashes or is paused, once, so that its pool has to record an end."""

    faults: ClassVar[int]
    over: ClassVar[bool]

    how: str

    async def run(self) -> str:
        if not self.over:
            Stumbling.over = True
            if self.how == "crash":
                raise OSError("no paper")
            await self.ctx.once("unknown", self.lost)
        return "over"

    async def lost(self) -> None:
        raise OSError("who knows")


@pytest.mark.parametrize("how", ["crash", "pause"])
@pytest.mark.parametrize("faults", [1, 2, 3])
async def test_an_end_that_meets_faults_is_recorded_all_the_same(
    place: Place, monkeypatch: pytest.MonkeyPatch, how: str, faults: int
) -> None:
    """By so many in a row, each while the write is put together that tells of the end."""
    seal, Stumbling.faults, Stumbling.over = Ledger.seal, faults, False

    def faulty(ledger: Ledger, draft: Any) -> Any:
        told = {event.kind for event in draft.events}
        if Stumbling.faults and told & {"task_crashed", "task_paused"}:
            Stumbling.faults -= 1
            raise MemoryError
        return seal(ledger, draft)

    monkeypatch.setattr(Ledger, "seal", faulty)
    async with place.runtime() as runtime:
        task = await runtime.start(Stumbling(how=how))
        try:
            await task.result()
        except TaskPaused:
            await task.resume()
            await task.result()
        assert Stumbling.faults == 0
        assert {"task_crashed", "task_paused"} & set(await kinds(task))


class Told(Actor, name="faults.Told"):
    """Hears four words, each from somebody else."""

    async def run(self) -> list[str]:
        return sorted([await self.ctx.receive(str) for _ in range(4)])


class Telling(Actor, name="faults.Telling"):
    """Says a word, with others at once."""

    word: str

    async def run(self) -> str:
        await self.ctx.send("told", self.word)
        return self.word


@pytest.mark.parametrize("number", range(1, 12))
@pytest.mark.parametrize(("kind", "name"), [(Commits, "told"), (Environment, "posted")])
async def test_a_commit_is_told_though_a_fault_comes_while_it_is(
    place: Place, monkeypatch: pytest.MonkeyPatch, kind: Any, name: str, number: int
) -> None:
    """And none after another one that was committed later."""
    told, numbers = getattr(kind, name), count(1)

    def faulty(*args: Any) -> None:
        if next(numbers) == number:
            raise MemoryError
        told(*args)

    monkeypatch.setattr(kind, name, faulty)
    words = ["good", "morning", "world"]
    async with place.runtime() as runtime:
        hearing = await runtime.start(Told(), id="told")
        telling = await runtime.start_many(Telling(word=word) for word in words)
        await hearing.send("all")
        assert [await task.result() for task in telling] == words
        assert await hearing.result() == ["all", *words]
