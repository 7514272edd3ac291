"""Children that follow their parent are paused with it and go on with it; others take no notice."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from everstep import Actor, NotDone, Pool, Runtime, Status, Task, TaskPaused
from everstep.storage.kin import Straggler
from tests.runtime.kit import Place, kinds, until
from tests.waits.family import Square, forsake, fresh_family, stragglers

__all__ = ["fresh_family"]


class Sleeper(Actor, name="following.Sleeper"):
    async def run(self) -> int:
        await self.ctx.sleep(1000)
        return 9


class Doubtful(Actor, name="following.Doubtful"):
    """Starts a child, or one that starts one, and is paused when the test lets it."""

    child: Literal["square", "sleeper", "doubtful"] = "square"
    on_parent: Literal["cancel", "leave", "follow"] = "follow"
    pauses: bool = True

    async def run(self) -> Any:
        child = await self.ctx.start(self.made(), on_parent=self.on_parent)
        if self.pauses:
            await self.ctx.once("pay", self.pay)
        return await child.result()

    def made(self) -> Actor:
        if self.child == "doubtful":
            return Doubtful(pauses=False)
        return Sleeper() if self.child == "sleeper" else Square(number=3, stops=True)

    async def pay(self) -> None:
        if Square.gate.order.count("pay") == 0:
            await Square.gate.stop_at("pay")
            raise OSError("who knows")


async def is_paused(task: Task[Any]) -> None:
    await until(task, lambda info: info.status is Status.PAUSED)


async def the_child(runtime: Runtime, task: Task[Any]) -> Task[Any]:
    [child] = await runtime.tasks(parent=task.id)
    return runtime.task(child.id)


async def both_paused(runtime: Runtime, parent: Doubtful) -> tuple[Task[Any], Task[Any]]:
    """The parent, which was paused when it had a child, and the child, which is paused with it."""
    task = await runtime.start(parent)
    await Square.gate.until("pay")
    Square.gate.open("pay")
    child = await the_child(runtime, task)
    await is_paused(child)
    return task, child


async def asked_to_pause(runtime: Runtime, task: Task[Any]) -> None:
    """Return when its life begins nothing new."""
    life = runtime._open().pools.life((await runtime._open().row(task.id)).key)
    assert life is not None and life.incarnation is not None
    while not life.incarnation.draining:
        await asyncio.sleep(0)


async def test_a_child_whose_step_runs_is_paused_at_its_checkpoint_and_goes_on_with_its_parent(
    place: Place,
) -> None:
    async with place.runtime(grace=10) as runtime:
        task = await runtime.start(Doubtful())
        await Square.gate.until("3")
        child = await the_child(runtime, task)
        Square.gate.open("pay")
        await asked_to_pause(runtime, child)
        Square.gate.open("3")
        await is_paused(child)
        with pytest.raises(TaskPaused, match=f"its parent '{task.id}' is paused"):
            await child.result()
        await task.settle("pay", NotDone())

        assert await task.result() == 9
        assert Square.begun == [3]  # it reached its checkpoint
        assert "task_resumed" in await kinds(child)


async def test_a_child_that_reaches_its_checkpoint_when_its_parent_goes_on_again_does_so_too(
    place: Place,
) -> None:
    async with place.runtime(grace=10) as runtime:
        task = await runtime.start(Doubtful())
        await Square.gate.until("3")
        child = await the_child(runtime, task)
        Square.gate.open("pay")
        await asked_to_pause(runtime, child)
        await task.settle("pay", NotDone())
        await until(task, lambda info: info.status is Status.WAITING)
        Square.gate.open("3")

        assert await task.result() == 9
        assert (await kinds(child)).count("task_resumed") == 1


async def test_the_effect_of_a_child_is_let_to_its_end_before_that_is_paused(place: Place) -> None:
    class Payer(Actor, name="following.Payer"):
        """Has an effect in `run`, under no step."""

        async def run(self) -> str:
            return await self.ctx.once("fee", self.pay)

        async def pay(self) -> str:
            await Square.gate.stop_at("fee")
            return "paid"

    class Above(Doubtful, name="following.Payers"):
        def made(self) -> Actor:
            return Payer()

    async with place.runtime(grace=10) as runtime:
        task = await runtime.start(Above())
        await Square.gate.until("fee")
        child = await the_child(runtime, task)
        Square.gate.open("pay")
        await asked_to_pause(runtime, child)
        Square.gate.open("fee")
        await is_paused(child)
        await task.settle("pay", NotDone())

        assert await task.result() == "paid"
        assert Square.gate.order.count("fee") == 1


async def test_a_child_that_takes_its_time_holds_up_no_other_family(place: Place) -> None:
    async with place.runtime(grace=10) as runtime:
        other = await runtime.start(Doubtful(child="sleeper", pauses=False))
        task = await runtime.start(Doubtful())
        await Square.gate.until("3")
        await until(other, lambda info: info.status is Status.WAITING)
        Square.gate.open("pay")
        await asked_to_pause(runtime, await the_child(runtime, task))
        await other.cancel()

        child = await the_child(runtime, other)
        await until(child, lambda info: info.status is Status.CANCELLED)
        Square.gate.open("3")
        await is_paused(await the_child(runtime, task))


class Many(Doubtful, name="following.Many"):
    """Starts three children whose steps run until the test lets them end."""

    async def run(self) -> int:
        kids = [
            await self.ctx.start(Square(number=number, stops=True), on_parent="follow")
            for number in (1, 2, 3)
        ]
        await self.ctx.once("pay", self.pay)
        return sum([await kid.result() for kid in kids])


async def all_asked_to_pause(runtime: Runtime) -> Task[Any]:
    """A parent that was paused, and whose children are in their steps; pages are full of one."""
    runtime._open().shepherd.page = 1  # pyright: ignore[reportPrivateUsage]  # not public
    task = await runtime.start(Many())
    for number in "123":
        await Square.gate.until(number)
    Square.gate.open("pay")
    for child in await runtime.tasks(parent=task.id):
        await asked_to_pause(runtime, runtime.task(child.id))
    return task


async def test_children_are_asked_to_pause_at_once_however_many_take_their_time(
    place: Place,
) -> None:
    async with place.runtime(grace=10) as runtime:
        task = await all_asked_to_pause(runtime)  # the clock stood still
        Square.gate.open("1", "2", "3")

        for child in await runtime.tasks(parent=task.id):
            await is_paused(runtime.task(child.id))
        await task.settle("pay", NotDone())
        assert await task.result() == 1 + 4 + 9


async def test_children_are_cancelled_while_many_others_take_their_time_to_be_paused(
    place: Place,
) -> None:
    async with place.runtime(grace=10) as runtime:
        other = await runtime.start(Doubtful(child="sleeper", pauses=False))
        await until(other, lambda info: info.status is Status.WAITING)
        task = await all_asked_to_pause(runtime)
        await other.cancel()

        child = await the_child(runtime, other)
        await until(child, lambda info: info.status is Status.CANCELLED)
        assert not any(info.status is Status.PAUSED for info in await runtime.tasks(parent=task.id))
        Square.gate.open("1", "2", "3")


@pytest.mark.parametrize("idle_after", [60.0, 0.0], ids=["in memory", "out of memory"])
async def test_a_child_that_waits_is_paused_and_goes_on_with_its_parent(
    place: Place, idle_after: float
) -> None:
    async with place.runtime(idle_after=idle_after) as runtime:
        task = await runtime.start(Doubtful(child="sleeper"))
        await Square.gate.until("pay")
        child = await the_child(runtime, task)
        await until(child, lambda info: info.status is Status.WAITING)
        Square.gate.open("pay")
        await is_paused(child)
        place.clock.advance(1000)
        assert (await child.status()).status is Status.PAUSED
        await task.settle("pay", NotDone())

        assert await child.result(through_pause=True) == 9
        assert await task.result() == 9


async def test_a_child_that_is_queued_is_paused_and_goes_on_with_its_parent(place: Place) -> None:
    async with place.runtime(tree=Pool("tasks", max_running=1)) as runtime:
        task = await runtime.start(Doubtful())
        await Square.gate.until("pay")
        child = await the_child(runtime, task)
        assert (await child.status()).status is Status.QUEUED
        other = await runtime.start(Square(number=4, stops=True), priority=5)
        Square.gate.open("pay")
        await is_paused(child)
        Square.gate.open("4")
        Square.gate.open("3")
        assert await other.result() == 16
        assert Square.begun == [4]
        await task.settle("pay", NotDone())

        assert await task.result() == 9


async def test_the_children_of_a_child_follow_too(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Doubtful(child="doubtful"))
        await Square.gate.until("3")
        Square.gate.open("pay")
        child = await the_child(runtime, task)
        await is_paused(child)
        await is_paused(await the_child(runtime, child))
        Square.gate.open("3")
        await task.settle("pay", NotDone())

        assert await task.result() == 9


@pytest.mark.parametrize("on_parent", ["cancel", "leave"])
async def test_a_child_that_does_not_follow_takes_no_notice_of_a_pause(
    place: Place, on_parent: Literal["cancel", "leave"]
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Doubtful(on_parent=on_parent))
        await Square.gate.until("3")
        Square.gate.open("pay")
        await is_paused(task)
        assert await stragglers(runtime) == []
        Square.gate.open("3")

        assert await (await the_child(runtime, task)).result() == 9
        assert (await task.status()).status is Status.PAUSED


async def test_a_child_that_an_operator_lets_go_on_does_so_without_its_parent(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task, child = await both_paused(runtime, Doubtful(child="sleeper"))
        await child.resume(by="ann")
        await until(child, lambda info: info.status is Status.WAITING)
        place.clock.advance(1000)

        assert await child.result() == 9
        assert (await task.status()).status is Status.PAUSED


async def test_a_child_that_is_paused_for_its_own_sake_stays_so(place: Place) -> None:
    class Alone(Actor, name="following.Alone"):
        """Is paused before its parent."""

        async def run(self) -> None:
            await self.ctx.once("key", self.fail)

        async def fail(self) -> None:
            raise OSError("who knows")

    class Above(Doubtful, name="following.Above"):
        def made(self) -> Actor:
            return Alone()

    async with place.runtime() as runtime:
        task = await runtime.start(Above())
        await Square.gate.until("pay")
        child = await the_child(runtime, task)
        await is_paused(child)
        Square.gate.open("pay")
        await is_paused(task)
        await task.settle("pay", NotDone())
        await until(task, lambda info: info.status is Status.WAITING)

        assert (await child.status()).reason == "effect_unknown"


async def test_children_that_a_dead_process_did_not_pause_are_paused_by_the_next(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Doubtful(child="sleeper"), id="head")
        await Square.gate.until("pay")
        await forsake(runtime)
        Square.gate.open("pay")
        await is_paused(task)
        child = await the_child(runtime, task)
        assert await stragglers(runtime) == [Straggler(child.id, "head", Status.PAUSED)]
        child_id = child.id

    async with place.runtime() as runtime:
        await is_paused(runtime.task(child_id))
        assert await stragglers(runtime) == []
        await forsake(runtime)
        await runtime.task("head").settle("pay", NotDone())
        assert [one.id for one in await stragglers(runtime)] == [child_id]

    async with place.runtime() as runtime:
        await until(runtime.task(child_id), lambda info: info.status is Status.WAITING)


async def test_a_paused_child_is_cancelled_with_its_parent(place: Place) -> None:
    async with place.runtime() as runtime:
        task, child = await both_paused(runtime, Doubtful(child="sleeper"))
        await task.cancel()

        await until(child, lambda info: info.status is Status.CANCELLED)
