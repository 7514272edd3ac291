"""Children are started once, waited for in memory and out of it, and typed by their `run`."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from everstep import (
    Actor,
    ChildCancelled,
    ChildFailed,
    Pool,
    Retry,
    Runtime,
    Status,
    Supervisor,
    Task,
    TaskFailed,
    TaskInfo,
    WaitTimeout,
    step,
)
from tests.runtime.kit import Place, next_event, until
from tests.waits.family import Parent, Square, fresh_family

__all__ = ["fresh_family"]


async def out_of_memory(place: Place, task: Task[Any]) -> None:
    await until(task, lambda info: info.status is Status.WAITING)
    place.clock.advance(10)
    await next_event(task, "task_suspended")


async def only_child(runtime: Runtime, task: Task[Any]) -> TaskInfo:
    [child] = await runtime.tasks(parent=task.id)
    return child


async def test_a_task_starts_a_child_and_gets_its_result(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Parent(stops=False), lane="ann")

        assert await task.result() == 10
        child = await only_child(runtime, task)
        assert (child.parent, child.lane, child.status) == (task.id, "ann", Status.SUCCEEDED)
        assert (await task.status()).parent is None
        assert (await runtime.task(child.id).status()).parent == task.id
        assert await runtime.tasks(parent=child.id) == []


async def test_the_end_of_a_child_wakes_a_parent_that_has_left_memory(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Parent())
        await Square.gate.until("3")
        await out_of_memory(place, task)
        Square.gate.open("3")

        assert await task.result() == 10
    assert (Parent.begun, Square.begun) == (2, [3])


async def test_a_child_that_ends_while_its_parent_leaves_memory_is_not_missed(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        for number in range(20):
            task = await runtime.start(Parent(number=number))
            await Square.gate.until(str(number))
            await until(task, lambda info: info.status is Status.WAITING)
            if number % 2:
                Square.gate.open(str(number))
            place.clock.advance(10)
            Square.gate.open(str(number))

            assert await task.result() == number**2 + 1


async def test_a_parent_that_is_started_again_attaches_to_the_child_that_it_has(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Parent(), id="p")
        await Square.gate.until("3")
        child = await only_child(runtime, task)
    Square.gate.open("3")
    async with place.runtime() as runtime:
        task = runtime.task("p", Parent)

        assert await task.result() == 10
        assert (await only_child(runtime, task)).id == child.id


async def test_a_child_ends_while_no_class_of_its_parent_is_known(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Parent(), id="p")
        await Square.gate.until("3")
        await out_of_memory(place, task)
    Square.gate.open("3")
    async with place.runtime(actors=[Square]) as runtime:
        child = await only_child(runtime, runtime.task("p"))
        assert await runtime.task(child.id).result() == 9
        assert (await runtime.task("p").status()).status is Status.QUEUED

    async with place.runtime() as runtime:
        assert await runtime.task("p").result() == 10


class Careful(Actor, name="children.Careful"):
    """Waits for a child and says how that ended, again after a sleep."""

    number: int
    stops: bool = False
    timeout: float | None = None

    async def run(self) -> str:
        child = await self.ctx.start(Square(number=self.number, stops=self.stops))
        try:
            said = str(await child.result(timeout=self.timeout))
        except ChildFailed as failed:
            said = f"{type(failed).__name__} {failed.is_a(ValueError)} {failed}"
        except (ChildCancelled, WaitTimeout) as ended:
            said = f"{type(ended).__name__} {ended}"
        await self.ctx.sleep(timedelta(days=1))
        return said


async def said_after_a_replay(place: Place, task: Task[Any]) -> str:
    """What it says at last: it has slept out of memory, so it was told in a replay."""
    an_hour = timedelta(hours=1)
    await until(task, lambda info: bool(info.due_at and info.due_at - info.updated_at > an_hour))
    await until(task, lambda info: info.status is Status.WAITING)
    place.clock.advance(86_400)
    said: str = await task.result()
    return said


async def test_the_failure_of_a_child_is_told_to_its_parent_live_and_in_a_replay(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Careful(number=-1))

        said = await said_after_a_replay(place, task)
        child = await only_child(runtime, task)
    assert said.startswith(
        f"ChildFailed True the child '{child.id}' failed (never_retried) in step"
    )
    assert "ValueError: no root" in said


async def test_the_cancellation_of_a_child_is_told_to_its_parent(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Careful(number=3, stops=True))
        await Square.gate.until("3")
        await until(task, lambda info: info.status is Status.WAITING)
        child = await only_child(runtime, task)
        await runtime.task(child.id).cancel(by="ann")

        said = await said_after_a_replay(place, task)
    assert said.startswith(f"ChildCancelled the child '{child.id}' was cancelled")


async def test_a_paused_child_is_waited_for(place: Place) -> None:
    class Unsure(Actor, name="children.Unsure"):
        async def run(self) -> str:
            return await self.ctx.once("key", self.fail)

        async def fail(self) -> str:
            raise OSError("who knows")

    class Patient(Actor, name="children.Patient"):
        async def run(self) -> Any:
            return await (await self.ctx.start(Unsure())).result()

    async with place.runtime() as runtime:
        task = await runtime.start(Patient())
        await next_event(task, "wait_started")
        child = runtime.task((await only_child(runtime, task)).id)
        await until(child, lambda info: info.status is Status.PAUSED)
        await out_of_memory(place, task)
        await child.cancel()

        with pytest.raises(TaskFailed, match="was cancelled"):
            await task.result()


async def test_a_wait_for_a_child_ends_with_its_timeout(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Careful(number=3, stops=True, timeout=60))
        await Square.gate.until("3")
        await out_of_memory(place, task)
        place.clock.advance(60)

        said = await said_after_a_replay(place, task)
        assert said.startswith("WaitTimeout result(")


async def test_a_failure_of_a_child_that_leaves_run_fails_the_parent_at_once(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Parent(number=-1))

        with pytest.raises(TaskFailed) as failed:
            await task.result()
        assert failed.value.error == "everstep.actors.failures.ChildFailed"
        assert Parent.begun == 1


async def test_a_parent_that_failed_with_its_child_goes_on_with_it_when_both_are_resumed(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Parent(number=-1))
        with pytest.raises(TaskFailed):
            await task.result()
        child = runtime.task((await only_child(runtime, task)).id)
        Square.mended = True
        await child.resume()
        assert await child.result() == 1
        await task.resume()

        assert await task.result() == 2


async def test_a_parent_goes_on_when_it_and_its_many_children_are_resumed(place: Place) -> None:
    """Of some of the ends its code has not heard when the first one has made it fail."""
    number = 150

    class Many(Actor, name="children.Many"):
        async def one(self, number: int) -> int:
            child = await self.ctx.start(Square(number=number, stops=True), key=str(number))
            try:
                return await child.result()
            except ChildFailed:
                return 0

        async def run(self) -> int:
            return sum(await asyncio.gather(*(self.one(i) for i in range(number))))

    async with place.runtime() as runtime:
        task = await runtime.start(Many())
        for i in range(number):
            await Square.gate.until(str(i))
        await task.cancel()
        children = await runtime.tasks(parent=task.id, limit=1000)
        for child in children:
            await until(runtime.task(child.id), lambda info: info.status is Status.CANCELLED)
        await task.resume()
        with pytest.raises(TaskFailed, match="was cancelled"):
            await task.result()

        Square.gate.open(*map(str, range(number)))
        for child in children:
            await runtime.task(child.id).resume()
        await task.resume()
        assert await task.result() == sum(i * i for i in range(number))


async def test_a_child_that_a_step_starts_rides_with_its_checkpoint(place: Place) -> None:
    class InStep(Actor, name="children.InStep"):
        tries: int = 0

        @step(retry=Retry(2))
        async def begin(self) -> str:
            child = await self.ctx.start(Square(number=4))
            tries.append(child.id)
            if len(tries) == 1:
                raise OSError("not yet")
            return child.id

        async def run(self) -> int:
            return await self.ctx.child(await self.begin(), Square).result()

    tries: list[str] = []
    async with place.runtime(chance=lambda: 0.0) as runtime:
        task = await runtime.start(InStep())

        assert await task.result() == 16
        assert [child.id for child in await runtime.tasks(parent=task.id)] == tries[1:]
        assert Square.begun == [4]


class Gathering(Actor, name="children.Gathering"):
    async def run(self) -> list[int]:
        return await self.ctx.gather(Square(number=2), Square(number=3))


async def test_a_parent_that_gathers_leaves_the_only_slot_to_its_children(place: Place) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        task = await runtime.start(Gathering())

        assert await task.result() == [4, 9]


async def test_a_wait_for_a_child_in_a_step_is_refused(place: Place) -> None:
    class Wrong(Actor, name="children.Wrong"):
        @step
        async def ask(self) -> None:
            await (await self.ctx.start(Square(number=1))).result()

    async with place.runtime() as runtime:
        task = await runtime.start(Wrong())
        with pytest.raises(TaskFailed, match=r"WaitInStep[^$]*await child.result\(…\)"):
            await task.result()
        assert await runtime.tasks(parent=task.id) == []


async def test_a_stranger_is_no_child(place: Place) -> None:
    class Curious(Actor, name="children.Curious"):
        async def run(self) -> int:
            return await self.ctx.child("stranger", Square).result()

    async with place.runtime() as runtime:
        await runtime.start(Square(number=1), id="stranger")
        with pytest.raises(TaskFailed, match="no child of this task"):
            await (await runtime.start(Curious())).result()


async def test_a_child_runs_in_the_pool_that_it_is_given(place: Place) -> None:
    class Elsewhere(Actor, name="children.Elsewhere"):
        pool: str

        async def run(self) -> int:
            child = await self.ctx.start(Square(number=2), pool=self.pool, priority=3, lane="bob")
            return await child.result()

    tree = Supervisor("root", children=[Pool("tasks"), Pool("other")])
    async with place.runtime(tree=tree) as runtime:
        task = await runtime.start(Elsewhere(pool="other"))
        assert await task.result() == 4
        child = await only_child(runtime, task)
        assert (child.pool, child.priority, child.lane) == ("other", 3, "bob")

        with pytest.raises(TaskFailed, match="is no pool of this runtime"):
            await (await runtime.start(Elsewhere(pool="nowhere"))).result()


async def test_a_child_is_refused_that_could_not_be_run(place: Place) -> None:
    class Bad(Actor, name="children.Bad"):
        async def run(self) -> None:
            await self.ctx.start(Square(number=1), on_parent="kill")  # type: ignore[call-overload]  # that is the point

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match="on_parent='kill': is unknown"):
            await (await runtime.start(Bad())).result()
