"""Tasks, waiters, threads and runtimes side by side leave each other in peace."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.log import Log
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.errors import TaskFailed
from everstep.runtime import Runtime
from everstep.storage.errors import TaskNotFound
from everstep.testing import ManualClock

STEPS = 20


class Counts(Actor, name="survival.neighbours.Counts"):
    """Some quick steps, one after the other."""

    number: int = 0

    async def run(self) -> int:
        while self.number < STEPS:
            await self.count()
        return self.number

    @step
    async def count(self) -> None:
        self.number += 1


class Computes(Actor):
    """Never waits: computes for 100 µs, lets others go, computes again."""

    @step
    async def compute(self) -> int:
        turns = 0
        while not STOP:
            until = time.perf_counter() + 100e-6
            while time.perf_counter() < until:
                pass
            turns += 1
            await asyncio.sleep(0)
        return turns


STOP: list[bool] = []


class Gated(Actor):
    """Waits in a step until it is let through."""

    @step
    async def wait(self) -> str:
        await GATES[-1].wait()
        return "through"


GATES: list[asyncio.Event] = []


@pytest.fixture
def gate() -> asyncio.Event:
    event = asyncio.Event()
    GATES.append(event)
    return event


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    async with Runtime(tmp_path / "tasks.db", grace=0.1) as runtime:
        yield runtime


@pytest.mark.real
async def test_a_task_that_computes_without_pause_does_not_stop_commits(runtime: Runtime) -> None:
    STOP.clear()
    busy = await runtime.start(Computes())

    counting = await runtime.start(Counts())
    assert await asyncio.wait_for(counting.result(), 20) == STEPS

    STOP.append(True)
    assert await busy.result() > STEPS


async def test_cancelling_a_waiter_of_a_result_does_not_touch_the_task(
    runtime: Runtime, gate: asyncio.Event
) -> None:
    task = await runtime.start(Gated())
    waiters = [asyncio.create_task(task.result()) for _ in range(3)]
    await _begun(runtime, task.id)

    waiters[0].cancel()
    await asyncio.wait([waiters[0]])
    gate.set()

    assert waiters[0].cancelled()
    assert await waiters[1] == await waiters[2] == await task.result() == "through"
    info = await task.status()
    assert (info.incarnation, info.crashes) == (1, 0)


async def _begun(runtime: Runtime, task_id: str) -> None:
    async for event in runtime.task(task_id).events(follow=True):
        if event.kind == "step_started":
            return


async def test_start_cancelled_at_any_await_leaves_a_whole_task_or_none(tmp_path: Path) -> None:
    for turns in range(30):
        async with Runtime(tmp_path / f"{turns}.db", grace=0.1) as runtime:
            starting = asyncio.create_task(runtime.start(Counts(), id="task"))
            for _ in range(turns):
                await asyncio.sleep(0)
            starting.cancel()
            await asyncio.wait([starting])

            task = await runtime.start(Counts(), id="task")
            assert await asyncio.wait_for(task.result(), 5) == STEPS
            steps = await runtime.task("task").steps()
            assert [record.executions for record in steps] == [1] * STEPS


class Threads(Actor):
    """A step that blocks its thread until it is let go."""

    @step
    def block(self) -> str:
        BLOCKED.set()
        RELEASE.wait()
        return threading.current_thread().name


BLOCKED = threading.Event()
RELEASE = threading.Event()


@pytest.mark.real
async def test_a_plain_step_runs_in_a_thread_and_blocks_nobody(runtime: Runtime) -> None:
    blocking = await runtime.start(Threads())
    await asyncio.to_thread(BLOCKED.wait)

    counted = await (await runtime.start(Counts())).result()
    RELEASE.set()

    assert counted == STEPS
    assert await blocking.result() != threading.current_thread().name


class TimesOut(Actor):
    """A thread that goes on changing the state after its time was over."""

    numbers: list[int] = [0]
    log: Log[str] = Log()
    deep: dict[str, list[int]] = {"numbers": []}

    @step(retry=Retry(2, backoff=none()), timeout=5)
    def change(self) -> str:
        if self.ctx.attempt == 1:
            numbers, deep = self.numbers, self.deep["numbers"]
            GOES_ON.set()
            OVER.wait()
            numbers.append(1)
            deep.append(1)
            REFUSED.append(_refused(lambda: self.log.append("late")))
            REFUSED.append(_refused(lambda: setattr(self, "numbers", [9])))
            CHANGED.set()
            return "too late"
        OVER.set()
        CHANGED.wait()
        self.numbers.append(2)
        return "in time"


GOES_ON, OVER, CHANGED = threading.Event(), threading.Event(), threading.Event()
REFUSED: list[bool] = []


def _refused(change: object) -> bool:
    assert callable(change)
    try:
        change()
    except Exception:
        return True
    return False


@pytest.mark.real
async def test_a_thread_that_goes_on_after_its_timeout_touches_nothing() -> None:
    clock = ManualClock()
    async with Runtime(":memory:", clock=clock) as runtime:
        task = await runtime.start(TimesOut())
        await asyncio.to_thread(GOES_ON.wait)
        clock.advance(5)

        assert await task.result() == "in time"
        state = await task.state()

    assert isinstance(state, TimesOut)
    assert state.numbers == [0, 2]
    assert state.deep == {"numbers": []}
    assert list(state.log) == []
    assert REFUSED == [True, True]


class FailsWithTraces(Actor):
    """Each attempt changes the state in every way, and only the last one succeeds."""

    number: int = 0
    names: list[str] = []
    deep: dict[str, list[list[int]]] = {"a": [[1]]}
    log: Log[str] = Log()

    @step(retry=Retry(3, backoff=none()))
    async def change(self) -> list[object]:
        seen: list[object] = [self.number, list(self.names), len(self.log), self.deep["a"][0][:]]
        self.number += 1
        self.names.append("x")
        self.names = [*self.names, "y"]
        self.deep["a"][0].append(2)
        self.log.append("tried")
        if self.ctx.attempt < 3:
            raise ValueError("not yet")
        return seen


async def test_a_failed_attempt_leaves_no_trace_in_the_next_one() -> None:
    async with Runtime(":memory:", clock=ManualClock()) as runtime:
        task = await runtime.start(FailsWithTraces())

        assert await task.result() == [0, [], 0, [1]]
        state = await task.state()

    assert isinstance(state, FailsWithTraces)
    assert (state.number, state.names, list(state.log)) == (1, ["x", "y"], ["tried"])
    assert state.deep == {"a": [[1, 2]]}


class Shared(Actor):
    """Two runtimes have a task of this class and of one id."""

    word: str

    @step(retry=Retry(1))
    async def say(self) -> str:
        if self.word == "fail":
            raise ValueError(self.word)
        return self.word


async def test_two_runtimes_in_one_process_know_nothing_of_each_other(tmp_path: Path) -> None:
    async with (
        Runtime(tmp_path / "one.db") as one,
        Runtime(tmp_path / "two.db") as two,
        Runtime(":memory:") as three,
    ):
        first = await one.start(Shared(word="first"), id="task")
        second = await two.start(Shared(word="second"), id="task")

        assert await first.result() == "first"
        assert await second.result() == "second"
        with pytest.raises(TaskNotFound):
            await three.task("task").result()
        assert [info.id for info in await one.tasks()] == ["task"]


async def test_the_end_of_one_runtime_is_not_felt_in_another(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "one.db") as one:
        async with Runtime(tmp_path / "two.db") as two:
            with pytest.raises(TaskFailed):
                await (await two.start(Shared(word="fail"), id="task")).result()

        assert await (await one.start(Shared(word="on"), id="task")).result() == "on"
