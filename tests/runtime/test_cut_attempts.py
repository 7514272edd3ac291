"""An attempt that has begun ends in the log, and once, whoever ends it."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import ClassVar

import pytest

from everstep import Actor, Restart, Runtime, Status, Task, TaskFailed, step
from everstep.testing import ManualClock
from tests.runtime.kit import Gate, Place, until


class Abandoning(Actor, name="cut.Abandoning"):
    """`run` raises as soon as what `outer` left behind has ended, before `outer` hears of it."""

    fails: bool = False

    begun: ClassVar[asyncio.Event]
    ended: ClassVar[asyncio.Event]
    left: ClassVar[list[asyncio.Task[None]]]

    @step
    async def inner(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()

    @step
    async def outer(self) -> None:
        self.left.append(asyncio.create_task(self.inner()))
        await self.begun.wait()
        if self.fails:
            raise OSError("no paper")

    async def run(self) -> None:
        self.left.append(asyncio.create_task(self.outer()))
        await self.ended.wait()
        raise ValueError("run")


class Nested(Actor, name="cut.Nested"):
    gate: ClassVar[Gate]

    @step
    async def outer(self) -> None:
        await self.inner()

    @step
    async def inner(self) -> None:
        await self.gate.stop_at("inner")

    async def run(self) -> None:
        await self.outer()


class Failing(ManualClock):
    """Raises once, the next time that it is asked, when it is told to."""

    fails = False

    def now(self) -> float:
        fails, self.fails = self.fails, False
        if fails:
            raise MemoryError
        return super().now()


async def nothing() -> None: ...


class Exiting(Actor, name="cut.Exiting"):
    """Ends the process from within a step, beside another one."""

    begun: ClassVar[asyncio.Event]

    @step
    async def beside(self) -> None:
        await self.ctx.once("known", nothing)  # the store knows of the attempt now
        self.begun.set()
        await asyncio.Event().wait()

    @step
    async def leave(self) -> None:
        raise SystemExit(3)

    async def run(self) -> None:
        other = asyncio.create_task(self.beside())
        await self.begun.wait()
        await self.leave()
        await other


class Logging(Actor, name="cut.Logging"):
    """Tells, appends and meets a fault in its second step."""

    clock: ClassVar[Failing]
    executed: ClassVar[int]

    done: list[str] = []

    @step
    async def one(self) -> None:
        self.done.append("one")

    @step
    async def two(self) -> None:
        await self.ctx.once("known", nothing)  # the store knows of the attempt now
        self.done.append("two")
        self.ctx.emit("told", "two")
        Logging.executed += 1
        self.clock.fails = self.executed == 1

    async def run(self) -> list[str]:
        await self.one()
        await self.two()
        return self.done


async def attempts_of(task: Task[None]) -> list[tuple[str, str]]:
    return [(one.kind, one.step) async for one in task.events() if one.step is not None]


@pytest.mark.parametrize("fails", [False, True])
async def test_an_attempt_that_waits_for_what_it_left_behind_ends_with_its_task(
    place: Place, fails: bool
) -> None:
    Abandoning.begun, Abandoning.ended, Abandoning.left = asyncio.Event(), asyncio.Event(), []
    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        task = await runtime.start(Abandoning(fails=fails))
        with pytest.raises(TaskFailed):
            await task.result()
        await asyncio.wait(Abandoning.left)

        ends = [("step_cut", "outer/inner"), ("step_cut", "outer")]
        assert (await attempts_of(task))[2:] == ends
        assert not any(one.running for one in await task.steps())


async def test_what_a_cancelled_task_had_in_the_air_is_cut(place: Place) -> None:
    Nested.gate = Gate()
    async with place.runtime() as runtime:
        task = await runtime.start(Nested(), id="a")
        await Nested.gate.until("inner")
        assert await task.cancel()

        ends = [("step_cut", "outer"), ("step_cut", "outer/inner")]
        assert (await attempts_of(task))[2:] == ends
        assert not any(one.running for one in await task.steps())

        assert await task.resume()
        await until(task, lambda info: info.status is Status.RUNNING)
        Nested.gate.open("inner")
        await task.result()
        assert [one.attempts for one in await task.steps()] == [1, 1]


def test_what_was_in_the_air_beside_a_step_that_exits_is_cut(tmp_path: Path) -> None:
    async def serve() -> None:
        Exiting.begun = asyncio.Event()
        async with Runtime(tmp_path / "tasks.db", grace=0) as runtime:
            await (await runtime.start(Exiting())).result()

    with pytest.raises(SystemExit):
        asyncio.run(serve())

    with contextlib.closing(sqlite3.connect(tmp_path / "tasks.db")) as connection:
        found = connection.execute("SELECT identity FROM step WHERE open = 1").fetchall()
        ends = connection.execute("SELECT step FROM event WHERE kind = 'step_cut'").fetchall()
    assert (found, ends) == ([], [("beside",)])


async def test_a_fault_amid_a_checkpoint_leaves_nothing_of_it(place: Place) -> None:
    place.clock, Logging.executed = Failing(), 0
    Logging.clock = place.clock
    async with place.runtime(clock=place.clock) as runtime:
        task = await runtime.start(Logging())

        assert await task.result() == ["one", "two"]
        assert (await task.state(Logging)).done == ["one", "two"]
        kinds = [one.kind async for one in task.events()]
        assert kinds.count("task_crashed") == kinds.count("told") == 1
        assert kinds.count("step_completed") == 2
        assert (kinds.count("step_started"), kinds.count("step_cut")) == (3, 1)


async def test_no_step_of_a_task_that_has_failed_is_shown_running(place: Place) -> None:
    place.clock, Logging.executed = Failing(), 0
    Logging.clock = place.clock
    async with place.runtime(clock=place.clock, pool={"restart": Restart(0)}) as runtime:
        task = await runtime.start(Logging())
        with pytest.raises(TaskFailed, match="MemoryError"):
            await task.result()

        assert not any(one.running for one in await task.steps())
