"""Starting a task: what is durable, what is refused, what an id means."""

import asyncio
from typing import Any, Generic, TypeVar

import pytest

from everstep import (
    Actor,
    BadActor,
    BadCall,
    Limits,
    PayloadTooLarge,
    Runtime,
    RuntimeClosed,
    Status,
    TaskExists,
    TaskNotFound,
    step,
)
from everstep.ids import new_id
from tests.runtime.kit import Gate, Place, Plain, Unsteady, Waiting, kinds

T = TypeVar("T")


async def test_a_started_task_is_in_the_store_when_start_returns(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        await runtime.start(Waiting(name="a"), id="a")

        info = await runtime.task("a").status()
        assert (info.actor, info.status in {Status.QUEUED, Status.RUNNING}) == (
            "runtime.Waiting",
            True,
        )
        gate.open("a")


async def test_a_task_that_finds_room_is_created_running_in_one_commit(place: Place) -> None:
    async with place.runtime() as runtime:
        await (await runtime.start(Plain())).result()  # from here on the queue is known to be empty
        task = await runtime.start(Plain(topic="x"))

        assert await task.result() == "x: 2"
        assert (await kinds(task))[:3] == ["task_started", "task_claimed", "step_started"]


async def test_the_same_id_with_equal_fields_is_the_same_task(place: Place) -> None:
    async with place.runtime() as runtime:
        first = await runtime.start(Plain(topic="x"), id="same")
        await first.result()

        again = await runtime.start(Plain(topic="x"), id="same")

        assert await again.result() == "x: 2"
        assert (await kinds(again)).count("task_started") == 1


@pytest.mark.parametrize("other", [False, True], ids=["equal", "other fields"])
async def test_a_start_with_the_id_of_a_running_task_does_not_touch_it(
    place: Place, gate: Gate, other: bool
) -> None:
    async with place.runtime() as runtime:
        await (await runtime.start(Plain())).result()  # so that the next ones find room at once
        task = await runtime.start(Waiting(name="a"), id="same")
        await gate.until("a")

        if other:
            with pytest.raises(TaskExists):
                await runtime.start(Waiting(name="b"), id="same")
        else:
            await runtime.start(Waiting(name="a"), id="same")
        await (await runtime.start(Plain())).result()  # the life of the second start is over by now
        gate.open("a")

        assert await task.result() == "a"
        told = await kinds(task)
        assert (told.count("task_started"), told.count("task_crashed")) == (1, 0)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (Plain(topic="y"), "other fields"),
        (Plain(topic="x", seen=[]), "other fields"),
        (Unsteady(), "is of the actor 'runtime.Plain'"),
    ],
)
async def test_the_same_id_with_something_else_is_refused(
    place: Place, other: Actor, why: str
) -> None:
    async with place.runtime() as runtime:
        await runtime.start(Plain(topic="x"), id="taken")

        with pytest.raises(TaskExists, match=why):
            await runtime.start(other, id="taken")


async def test_two_starts_of_one_id_at_once_make_one_task(place: Place) -> None:
    async with place.runtime() as runtime:
        both = await asyncio.gather(*(runtime.start(Plain(), id="one") for _ in range(8)))

        results = {await task.result() for task in both}
        assert results == {"refunds: 2"}
        assert len(await runtime.tasks()) == 1


@pytest.mark.parametrize("task_id", ["", "x" * 201, "a\nb", "\x7f", "\ud800", 7])
async def test_an_id_that_cannot_be_kept_is_refused(task_id: Any) -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(BadCall, match="id="):
            await runtime.start(Plain(), id=task_id)


@pytest.mark.parametrize(
    ("actor", "instead"),
    [(Plain, r"an instance of it; write Plain\("), (3, "is no actor"), (None, "is no actor")],
)
async def test_what_is_no_instance_of_an_actor_is_refused(actor: Any, instead: str) -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(BadCall, match=instead):
            await runtime.start(actor)


@pytest.mark.parametrize("options", [{"priority": 1.5}, {"pool": "other"}])
async def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(BadCall, match=next(iter(options))):
            await runtime.start(Plain(), **options)


async def test_a_generic_actor_is_started_from_a_class_with_a_name_of_its_own() -> None:
    class Box(Actor, Generic[T]):
        content: T

        @step
        async def look(self) -> None: ...

    class Numbers(Box[int]):
        pass

    async with Runtime(":memory:") as runtime:
        with pytest.raises(BadActor, match="class MyBox"):
            await runtime.start(Box[int](content=1))
        await (await runtime.start(Numbers(content=1))).result()


async def test_a_field_over_the_limit_is_refused_before_anything_is_written() -> None:
    async with Runtime(":memory:", limits=Limits(value=100)) as runtime:
        with pytest.raises(PayloadTooLarge):
            await runtime.start(Plain(topic="x" * 200))

        assert await runtime.tasks() == []


async def test_a_start_that_is_cancelled_leaves_no_slot_taken(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await (await runtime.start(Plain())).result()
        starting = asyncio.create_task(runtime.start(Waiting(name="a"), id="a"))
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait([starting])

        gate.open("a")
        second = await runtime.start(Plain())

        assert await second.result() == "refunds: 2"


async def test_a_task_that_is_not_there_is_found_out_at_the_first_use(place: Place) -> None:
    async with place.runtime() as runtime:
        task = runtime.task("nobody")

        for use in (task.result, task.status, task.state, task.steps, task.cancel, task.resume):
            with pytest.raises(TaskNotFound, match="nobody"):
                await use()
        with pytest.raises(TaskNotFound):
            _ = [event async for event in task.events()]


async def test_a_runtime_is_used_inside_its_block_and_entered_once() -> None:
    runtime = Runtime(":memory:")
    with pytest.raises(RuntimeClosed, match="not entered"):
        await runtime.start(Plain())
    async with runtime:
        task = await runtime.start(Plain())
        with pytest.raises(RuntimeClosed, match="entered already"):
            await runtime.__aenter__()

    with pytest.raises(RuntimeClosed):
        await task.result()


async def test_a_runtime_refuses_another_event_loop() -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(RuntimeClosed, match="another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(_status(runtime)))


async def _status(runtime: Runtime) -> None:
    await runtime.task("x").status()


async def test_two_runtimes_live_in_one_process(place: Place) -> None:
    async with place.runtime() as one, Runtime(":memory:") as two:
        first, second = await one.start(Plain(), id="a"), await two.start(Plain(), id="a")

        assert await first.result() == await second.result()


def test_ids_made_later_sort_after_those_made_before() -> None:
    made = [new_id(1_750_000_000 + n * 0.001) for n in range(100)]

    assert made == sorted(made)
    assert len(set(made)) == 100
    assert {text[14] for text in made} == {"7"}


async def test_tasks_are_listed_in_the_order_of_their_start_and_filtered(place: Place) -> None:
    async with place.runtime() as runtime:
        for name in ("a", "b", "c"):
            await (await runtime.start(Plain(), id=name)).result()
        Unsteady.errors = [ValueError("no")]
        await (await runtime.start(Unsteady(), id="d")).result()

        assert [info.id for info in await runtime.tasks()] == ["a", "b", "c", "d"]
        assert [info.id for info in await runtime.tasks(after="a", limit=2)] == ["b", "c"]
        assert [info.id for info in await runtime.tasks(actor=Unsteady)] == ["d"]
        assert await runtime.tasks(status=Status.FAILED) == []
        assert len(await runtime.tasks(status=[Status.SUCCEEDED, Status.FAILED])) == 4
