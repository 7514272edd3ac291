"""A task leaves memory whatever its code makes of that, and only where all of it waits."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from everstep import (
    Actor,
    Pool,
    Restart,
    Runtime,
    Status,
    StepFailed,
    Suspended,
    Task,
    TaskFailed,
    step,
)
from everstep.actors.incarnation import Incarnation
from everstep.storage import SqliteStore
from everstep.storage.interface import QueuePage
from everstep.storage.records import TaskRow
from everstep.testing import ManualClock
from tests.runtime.kit import Gate, Place, Plain, next_event, until
from tests.runtime.pools import existing

DAY = 24 * 3600.0


class Sleeper(Actor, name="waits.Sleeper"):
    """Sleeps for a day in the way that the test asks for."""

    seen: ClassVar[list[str]] = []
    gate: ClassVar[Gate] = Gate()

    way: str

    async def run(self) -> str:
        return await getattr(self, self.way)()  # type: ignore[no-any-return]

    @step
    async def work(self, name: str = "") -> str:
        self.seen.append(f"work {name}")
        return "worked"

    async def nap(self, name: str = "") -> str:
        await self.ctx.sleep(DAY, key=name)
        return f"napped {name}"

    async def in_gather(self) -> str:
        return str(await asyncio.gather(self.nap("a"), self.nap("b")))

    async def in_gather_that_returns_exceptions(self) -> str:
        answers = await asyncio.gather(self.nap("a"), self.nap("b"), return_exceptions=True)
        await self.work("after")
        return str(answers)

    async def in_task_group(self) -> str:
        async with asyncio.TaskGroup() as group:
            one, two = group.create_task(self.nap("a")), group.create_task(self.nap("b"))
        return str([one.result(), two.result()])

    async def in_anyio_task_group(self) -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(self.nap, "a")
            group.start_soon(self.nap, "b")
        return "both"

    async def in_finally(self) -> str:
        try:
            return await self.nap()
        finally:
            self.seen.append(f"finally {self.ctx.suspended}")
            await self.work("in finally")

    async def in_except_base_exception(self) -> str:
        try:
            return await self.nap()
        except BaseException:
            self.seen.append("caught")
            return "swallowed"

    async def in_endless_swallowing(self) -> str:
        while True:
            try:
                answer = await self.nap()
                await self.work("after")
                return answer
            except BaseException:
                continue

    async def in_another_error(self) -> str:
        try:
            return await self.nap()
        except BaseException as error:
            raise ValueError("instead") from error

    async def in_async_generator(self) -> str:
        async def naps() -> AsyncGenerator[str]:
            try:
                yield await self.nap("a")
                yield await self.nap("b")
            finally:
                self.seen.append("closed")

        return str([nap async for nap in naps()])

    async def in_asyncio_wait(self) -> str:
        tasks = {asyncio.create_task(self.nap("a")), asyncio.create_task(self.nap("b"))}
        done, _ = await asyncio.wait(tasks)
        return str(sorted(task.result() for task in done))

    async def behind_a_semaphore(self) -> str:
        free = asyncio.Semaphore(1)

        async def nap(name: str) -> str:
            async with free:
                return await self.nap(name)

        return str(await asyncio.gather(nap("a"), nap("b")))

    async def behind_a_queue(self) -> str:
        queue: asyncio.Queue[str] = asyncio.Queue()

        async def producer() -> None:
            await queue.put(await self.nap("a"))

        producing = asyncio.create_task(producer())
        answer = await queue.get()
        await producing
        return answer

    async def beside_a_failed_step(self) -> str:
        async def fail() -> None:
            raise ValueError("no")

        napping = asyncio.create_task(self.nap("a"))
        try:
            await self.ctx.step(fail, name="fail")
        except StepFailed:
            await self.work("caught")
        return await napping


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    Sleeper.seen, Sleeper.gate = [], Gate()


ANSWERS = {
    "napped ",
    "napped a",
    "both",
    "['napped a', 'napped b']",
}
WAYS = [name for name in vars(Sleeper) if name.startswith(("in_", "behind_"))]


async def left(runtime: Runtime, task: Task[Any]) -> None:
    """Return when the task has left memory and nothing of it is there any more."""
    await next_event(task, "task_suspended")
    while lives(task.id):
        await (await runtime.start(Plain())).result()
        gc.collect()


def lives(task_id: str) -> list[Incarnation]:
    return [life for life in existing(Incarnation) if life.task_id == task_id]


@pytest.mark.parametrize("way", WAYS)
async def test_a_waiting_task_leaves_memory_whatever_its_code_makes_of_that(
    place: Place, way: str
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Sleeper(way=way), id="s")
        await next_event(task, "task_suspended")
        place.clock.advance(5)  # what swallows its end is cut off
        info = await task.status()
        assert (info.status, info.crashes, info.deaths) == (Status.WAITING, 0, 0)
        assert not [entry for entry in Sleeper.seen if entry.startswith("work")]

        async for event in task.events(follow=True):
            if event.kind == "task_suspended":
                place.clock.advance(DAY + 5)

        assert await task.result() in ANSWERS
    if "finally" in way:
        assert Sleeper.seen == ["finally True", "finally False", "work in finally"]


@pytest.mark.parametrize("way", ["nap", "in_gather", "in_task_group", "behind_a_semaphore"])
async def test_nothing_of_a_task_that_left_is_held(place: Place, way: str) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Sleeper(way=way), id=f"{way} is left")

        await left(runtime, task)

        assert not [t for t in asyncio.all_tasks() if "nap" in repr(t.get_coro())]


class Busy(Sleeper, name="waits.Busy"):
    """Sleeps for a day in one asyncio task, and does something else in another."""

    async def with_a_step(self) -> str:
        napping = asyncio.create_task(self.nap("a"))
        answer = await self.ctx.step(self.other, name="other")
        napping.cancel()
        return answer

    async def with_code_of_its_own(self) -> str:
        napping = asyncio.create_task(self.nap("a"))
        await self.other()
        napping.cancel()
        return await self.work("after")

    async def with_an_effect(self) -> str:
        napping = asyncio.create_task(self.nap("a"))
        answer = await self.ctx.once("other", self.other)
        napping.cancel()
        return answer

    async def other(self) -> str:
        loop = asyncio.get_running_loop()
        self.seen.append("other")
        came: asyncio.Future[None] = loop.create_future()
        waiting = loop.create_task(self.gate.stop_at("other"))
        waiting.add_done_callback(lambda _: came.set_result(None))
        await came
        return "came"


@pytest.mark.parametrize("way", ["with_a_step", "with_code_of_its_own", "with_an_effect"])
async def test_a_task_that_does_something_else_stays(place: Place, way: str) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Busy(way=way))
        await Busy.gate.until("other")
        for _ in range(5):
            place.clock.advance(60)
            await (await runtime.start(Plain())).result()
        assert (await task.status()).status is Status.RUNNING
        Busy.gate.open("other")

        assert await task.result() in ("came", "worked")
    assert Busy.seen.count("other") == 1


async def test_a_step_that_ends_beside_a_wait_lets_the_task_leave(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Sleeper(way="beside_a_failed_step"))
        await until(task, lambda info: info.due_at is not None)
        for _ in range(3):
            place.clock.advance(1)
            await (await runtime.start(Plain())).result()
        await next_event(task, "task_suspended")
        place.clock.advance(DAY)

        assert await task.result() == "napped a"
    assert Sleeper.seen == ["work caught"]


async def test_suspended_passes_through_code_that_catches_exceptions(place: Place) -> None:
    class Careful(Sleeper, name="waits.Careful"):
        async def run(self) -> str:
            try:
                return await self.nap()
            except Exception:
                self.seen.append("caught")
                raise

    async with place.runtime() as runtime:
        await next_event(await runtime.start(Careful(way="")), "task_suspended")

    assert Careful.seen == []
    assert not issubclass(Suspended, Exception)


async def test_a_failure_beside_a_wait_ends_the_task_without_waiting(place: Place) -> None:
    class Failing(Sleeper, name="waits.Failing"):
        async def fail(self) -> None:
            await asyncio.sleep(0)
            raise PermissionError("no")

        async def run(self) -> str:
            inner = asyncio.gather(self.nap("a"), self.fail())
            await asyncio.gather(inner, self.nap("b"))
            return ""

    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        with pytest.raises(TaskFailed, match="PermissionError"):
            await (await runtime.start(Failing(way=""))).result()


class Dozer(Actor, name="waits.Dozer"):
    """Sleeps for less than the time after which a pool looks at everything again."""

    async def run(self) -> None:
        await self.ctx.sleep(10)


class Looking(SqliteStore):
    """Time passes while a pool looks for queued tasks, the first time after `looks` was emptied."""

    def __init__(self, path: Path, clock: ManualClock) -> None:
        super().__init__(path, clock=clock)
        self.time = clock
        self.looks: list[str] = ["at first"]

    async def lanes(self, *args: Any, **options: Any) -> QueuePage:
        if not self.looks:
            self.time.advance(10)
        self.looks.append("for the queued")
        return await super().lanes(*args, **options)

    async def due_waits(self, *args: Any, **options: Any) -> list[TaskRow]:
        self.looks.append("for the due")
        return await super().due_waits(*args, **options)

    async def strangers(self, *_: Any, **__: Any) -> dict[str, int]:
        return {}  # at once, without a turn of the loop in which the timer could ring


async def test_a_wait_that_falls_due_while_the_pool_looks_for_others_is_woken_next(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    store = Looking(tmp_path / "tasks.db", clock)
    async with Runtime(
        tmp_path / "tasks.db",
        store=store,
        clock=clock,
        tree=Pool(max_running=1),
        idle_after=0,
        grace=0,
    ) as runtime:
        dozing = await runtime.start(Dozer())
        await next_event(dozing, "task_suspended")
        store.looks.clear()
        await asyncio.gather(*[(await runtime.start(Plain())).result() for _ in range(2)])

        await dozing.result()
        assert store.looks[:2] == ["for the queued", "for the due"]
