"""Many children at once, and what becomes of them when their parent ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest

from everstep import Actor, ChildFailed, Pool, Retry, Runtime, Status, TaskFailed, step
from everstep.storage import ENDED
from everstep.storage.kin import Straggler
from tests.runtime.kit import Gate, Place, kinds, next_event, until
from tests.waits.family import Square, forsake, fresh_family, stragglers

__all__ = ["fresh_family"]


class Squares(Actor, name="families.Squares"):
    numbers: list[int]
    stops: bool = False
    limit: int = 3

    async def run(self) -> list[int]:
        return await self.ctx.map(self.square, self.numbers, limit=self.limit)

    def square(self, number: int) -> Square:
        return Square(number=number, stops=self.stops and number >= 0)


async def test_children_are_gathered_in_the_order_of_their_actors(place: Place) -> None:
    class Both(Actor, name="families.Both"):
        async def run(self) -> list[Any]:
            squares = await self.ctx.gather(Square(number=2), Square(number=3))
            more = await self.ctx.gather(Square(number=4), limit=1)
            return [*squares, *more, *await self.ctx.gather()]

    async with place.runtime() as runtime:
        assert await (await runtime.start(Both())).result() == [4, 9, 16]


async def test_no_more_children_than_the_limit_are_unfinished(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Squares(numbers=list(range(5)), stops=True, limit=2))
        for number in range(5):
            await Square.gate.until(str(number))
            children = await runtime.tasks(parent=task.id)
            assert sum(child.status not in ENDED for child in children) <= 2
            Square.gate.open(str(number))

        assert await task.result() == [0, 1, 4, 9, 16]


async def test_a_parent_out_of_memory_goes_on_gathering_where_it_was(place: Place) -> None:
    async with place.runtime(idle_after=0) as runtime:
        task = await runtime.start(Squares(numbers=list(range(30)), stops=True, limit=4))
        for number in range(30):
            await Square.gate.until(str(number))
            Square.gate.open(str(number))

        assert await task.result() == [number**2 for number in range(30)]
    assert sorted(Square.begun) == list(range(30))


async def test_an_actor_that_cannot_be_made_fails_the_map_after_the_children_that_run(
    place: Place,
) -> None:
    class Mistaken(Actor, name="families.Mistaken"):
        async def run(self) -> str:
            try:
                await self.ctx.map(lambda n: Square(number=n + 0 // (n - 3)), [1, 2, 3, 4], limit=2)
            except ZeroDivisionError:
                return "cannot be made"
            return "all were made"

    async with place.runtime() as runtime:
        task = await runtime.start(Mistaken())

        assert await task.result() == "cannot be made"
        children = await runtime.tasks(parent=task.id)
        assert {child.status for child in children} == {Status.SUCCEEDED}


async def test_after_the_failure_of_a_child_no_more_are_started(place: Place) -> None:
    class Told(Actor, name="families.Told"):
        async def run(self) -> str:
            try:
                await self.ctx.map(lambda n: Square(number=n), [1, -2, -3, 4, 5], limit=2)
            except ChildFailed as failed:
                return failed.task_id
            return "none failed"

    async with place.runtime() as runtime:
        task = await runtime.start(Told())
        failed = await task.result()

        children = await runtime.tasks(parent=task.id)
        assert len(children) < 5
        first = next(child for child in children if child.status is Status.FAILED)
        assert failed == first.id


async def test_after_a_failure_and_a_restart_those_that_run_are_waited_for(place: Place) -> None:
    class Firm(Actor, name="families.Firm"):
        async def run(self) -> str:
            actors = [Square(number=-1), Square(number=2, stops=True), Square(number=3)]
            try:
                await self.ctx.gather(*actors, limit=2)
            except ChildFailed as failed:
                return failed.failure.message
            return "none failed"

    async with place.runtime() as runtime:
        task = await runtime.start(Firm(), id="firm")
        await next_event(task, "wait_ended")
        await Square.gate.until("2")

    Square.gate = Gate()
    async with place.runtime() as runtime:
        task = runtime.task("firm")
        await Square.gate.until("2")
        await until(task, lambda info: info.status is Status.WAITING)
        Square.gate.open("2")
        assert await task.result() == "no root"
        assert len(await runtime.tasks(parent="firm")) == 2
        assert "steps_unused" not in await kinds(task)


async def test_an_input_of_which_no_actor_can_be_made_is_a_failure_like_any_other(
    place: Place,
) -> None:
    class Clumsy(Actor, name="families.Clumsy"):
        async def run(self) -> str:
            try:
                await self.ctx.map(self.made, [2, 0], limit=2)
            except ZeroDivisionError as error:
                return str(error)
            return "all were made"

        def made(self, number: int) -> Square:
            return Square(number=number // number + number, stops=True)

    async with place.runtime() as runtime:
        task = await runtime.start(Clumsy())
        await Square.gate.until("3")
        await until(task, lambda info: info.status is Status.WAITING)
        Square.gate.open("3")

        assert "by zero" in await task.result()


async def test_a_gathering_in_a_step_and_one_of_nobody_at_once_are_refused(place: Place) -> None:
    class Wrong(Actor, name="families.Wrong"):
        limit: int

        @step
        async def ask(self) -> list[int]:
            return await self.ctx.gather(Square(number=1))

        async def run(self) -> list[int]:
            if self.limit:
                return await self.ask()
            return await self.ctx.gather(Square(number=1), limit=self.limit)

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match=r"ctx\.gather was called in step ask"):
            await (await runtime.start(Wrong(limit=1))).result()
        with pytest.raises(TaskFailed, match="limit=0: is no number of children"):
            await (await runtime.start(Wrong(limit=0))).result()


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_ten_thousand_children_of_one_parent_work(tmp_path: Path) -> None:
    class Same(Actor, name="families.Same"):
        number: int

        async def run(self) -> int:
            return self.number

    class All(Actor, name="families.All"):
        async def run(self) -> int:
            return sum(await self.ctx.map(lambda n: Same(number=n), range(10_000), limit=1000))

    tree = Pool("tasks", max_running=200)
    async with Runtime(tmp_path / "tasks.db", tree=tree, durability="normal") as runtime:
        task = await runtime.start(All(), id="parent")

        assert await task.result() == sum(range(10_000))
        assert len(await runtime.tasks(parent="parent", limit=20_000)) == 10_000


# --- the end of the parent --------------------------------------------------------------------


class Head(Actor, name="families.Head"):
    """Starts a child that starts one itself, then waits or fails."""

    then: Literal["wait", "fail", "end"]
    on_parent: Literal["cancel", "leave"] = "cancel"

    async def run(self) -> None:
        child = await self.ctx.start(Middle(), on_parent=self.on_parent)
        if self.then == "wait":
            await child.result()
        if self.then == "fail":
            await self.fail()

    @step(retry=Retry(1, give_up_on=(NotImplementedError,)))
    async def fail(self) -> None:
        await Square.gate.until("3")
        raise NotImplementedError("at last")


class Middle(Actor, name="families.Middle"):
    async def run(self) -> int:
        return await (await self.ctx.start(Square(number=3, stops=True))).result()


async def below(runtime: Runtime, task_id: str) -> list[str]:
    """The ids of the only child, its only child, and so on."""
    found: list[str] = []
    while children := await runtime.tasks(parent=task_id):
        [child] = children
        task_id = child.id
        found.append(task_id)
    return found


async def test_with_a_parent_its_children_are_cancelled_and_theirs(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Head(then="wait"))
        await Square.gate.until("3")
        await task.cancel(by="ann")

        for child in await below(runtime, task.id):
            await until(runtime.task(child), lambda info: info.status is Status.CANCELLED)
            last = [e async for e in runtime.task(child).events() if e.kind == "task_cancelled"]
            assert "was cancelled" in last[0].data["why"]


async def test_all_children_of_a_parent_are_cancelled_however_many_they_are(place: Place) -> None:
    class Crowd(Actor, name="families.Crowd"):
        async def run(self) -> None:
            for _ in range(10):
                await self.more()
            await self.ctx.sleep(10**6)

        @step
        async def more(self) -> None:
            for _ in range(50):
                await self.ctx.start(Square(number=3, stops=True))

    async with place.runtime(pool={"max_running": 5}) as runtime:
        task = await runtime.start(Crowd())
        await next_event(task, "wait_started")
        await task.cancel()
        last = (await runtime.tasks(parent=task.id, limit=1000))[-1]
        await until(runtime.task(last.id), lambda info: info.status is Status.CANCELLED)
        while await stragglers(runtime):
            await asyncio.sleep(0)

        children = await runtime.tasks(parent=task.id, limit=1000)
        assert {child.status for child in children} == {Status.CANCELLED}
        assert len(children) == 500


async def test_with_a_parent_that_was_given_up_its_children_are_cancelled(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Head(then="fail"))
        with pytest.raises(TaskFailed):
            await task.result()

        for child in await below(runtime, task.id):
            await until(runtime.task(child), lambda info: info.status is Status.CANCELLED)


@pytest.mark.parametrize("ends", ["left", "succeeded"])
async def test_a_child_goes_on_without_its_parent_where_it_is_to_or_that_succeeded(
    place: Place, ends: str
) -> None:
    async with place.runtime() as runtime:
        left = ends == "left"
        head = Head(then="wait", on_parent="leave") if left else Head(then="end")
        task = await runtime.start(head)
        await Square.gate.until("3")
        if left:
            await task.cancel()
        else:
            await task.result()
        Square.gate.open("3")

        [child, _] = await below(runtime, task.id)
        assert await runtime.task(child).result() == 9


async def test_children_that_their_parent_left_behind_in_a_dead_process_are_cancelled(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Head(then="wait"), id="head")
        await Square.gate.until("3")
        await next_event(task, "wait_started")
        await forsake(runtime)
        await task.cancel()
        [child, grandchild] = await below(runtime, "head")
        assert await stragglers(runtime) == [Straggler(child, "head", Status.CANCELLED)]

    async with place.runtime() as runtime:
        for one in (child, grandchild):
            await until(runtime.task(one), lambda info: info.status is Status.CANCELLED)
        assert await stragglers(runtime) == []


async def test_a_cancelled_child_that_is_resumed_goes_on_without_its_parent(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Head(then="wait"))
        await Square.gate.until("3")
        await task.cancel()
        ids = await below(runtime, task.id)
        for one in ids:
            await until(runtime.task(one), lambda info: info.status is Status.CANCELLED)
        Square.gate.open("3")
        for one in reversed(ids):
            await runtime.task(one).resume()

        assert await runtime.task(ids[0]).result() == 9
