"""Starting many tasks: in order, a commit at a time, each of them whole or not at all."""

import asyncio
from collections.abc import Collection, Iterable, Iterator
from typing import Any, assert_type

import pytest

from everstep import (
    Actor,
    BadActor,
    BadCall,
    Limits,
    NotStarted,
    PayloadTooLarge,
    Pool,
    Runtime,
    RuntimeClosed,
    Status,
    StoreFailed,
    Supervisor,
    Task,
    TaskExists,
)
from everstep.bulk import TOGETHER
from everstep.storage import Births, MemoryStore, SystemClock
from everstep.storage.interface import Draft
from everstep.storage.records import TaskRow
from tests.runtime.kit import Gate, Place, Plain, Waiting, kinds

MANY = 2 * TOGETHER + 7


async def held(runtime: Runtime, gate: Gate) -> None:
    """Give the only slot away."""
    await runtime.start(Waiting(name="holds"), id="holds", priority=9)
    await gate.until("holds")


async def ids(runtime: Runtime) -> list[str]:
    """Those that were started besides the one that holds the slot, by age."""
    return [info.id for info in await runtime.tasks(limit=10 * MANY) if info.id != "holds"]


async def test_all_are_in_the_store_in_their_order_when_it_returns(
    place: Place, gate: Gate
) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await held(runtime, gate)
        tasks = await runtime.start_many(Plain(topic=str(n)) for n in range(MANY))

        assert [task.id for task in tasks] == await ids(runtime)
        assert [(await task.state(Plain)).topic for task in tasks[::250]] == [
            str(n) for n in range(0, MANY, 250)
        ]
        assert await kinds(tasks[-1]) == ["task_started"]


async def test_they_run_like_tasks_that_were_started_one_by_one(place: Place) -> None:
    async with place.runtime() as runtime:
        tasks = await runtime.start_many([Plain(topic="a"), Waiting(name="b"), Plain()])
        Waiting.gate.open("b")

        assert [await task.result() for task in tasks] == ["a: 2", "b", "refunds: 2"]
        assert (await kinds(tasks[0]))[:3] == ["task_started", "task_claimed", "step_started"]


async def test_nothing_to_start_is_nothing(place: Place) -> None:
    async with place.runtime() as runtime:
        assert await runtime.start_many([]) == []
        assert await runtime.start_many([], ids=[]) == []


async def test_options_hold_for_all_of_them(place: Place) -> None:
    tree = Supervisor("root", children=[Pool(), Pool("idle", max_running=1)])
    async with place.runtime(tree=tree) as runtime:
        tasks = await runtime.start_many([Plain(), Plain()], pool="idle", priority=3, lane="ann")

        for task in tasks:
            info = await task.status()
            assert (info.pool, info.priority, info.lane) == ("idle", 3, "ann")


async def test_the_same_call_again_starts_nothing_twice(place: Place) -> None:
    names = [f"report-{n}" for n in range(MANY)]
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await held(runtime, Waiting.gate)
        first = await runtime.start_many((Plain(topic=name) for name in names), ids=names)
        again = await runtime.start_many((Plain(topic=name) for name in names), ids=iter(names))

        assert [task.id for task in again] == [task.id for task in first] == names
        assert await ids(runtime) == names
        assert await kinds(again[3]) == ["task_started"]


async def test_what_exists_is_left_as_it_is_and_the_others_are_started(place: Place) -> None:
    async with place.runtime() as runtime:
        done = await runtime.start(Plain(topic="b"), id="b")
        await done.result()

        tasks = await runtime.start_many(map(_topical, "abcb"), ids=["a", "b", "c", "b"])

        assert [await task.result() for task in tasks] == ["a: 2", "b: 2", "c: 2", "b: 2"]
        assert (await kinds(done)).count("task_started") == 1


def _topical(topic: str) -> Plain:
    return Plain(topic=topic)


async def test_an_id_that_is_none_is_made(place: Place) -> None:
    async with place.runtime() as runtime:
        one, two = await runtime.start_many([Plain(), Plain()], ids=["one", None])

        assert one.id == "one"
        assert await two.result() == "refunds: 2"


async def test_two_calls_at_once_with_the_same_ids_make_one_task_of_each(place: Place) -> None:
    names = [str(n) for n in range(TOGETHER + 3)]
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await held(runtime, Waiting.gate)
        calls = [
            runtime.start_many([Plain(topic=name) for name in order], ids=order)
            for order in (names, names[::-1], names[3:])
        ]
        found = await asyncio.gather(*calls)

        assert [[task.id for task in tasks] for tasks in found] == [names, names[::-1], names[3:]]
        assert sorted(await ids(runtime)) == sorted(names)


@pytest.mark.parametrize("other", [Plain(topic="y"), Waiting(name="x")], ids=["fields", "actor"])
async def test_an_id_of_another_task_is_refused_with_its_place(place: Place, other: Actor) -> None:
    async with place.runtime() as runtime:
        await runtime.start(Plain(topic="x"), id="taken")

        with pytest.raises(NotStarted, match=r"actors\[1\], of runtime\.\w+, cannot") as refused:
            await runtime.start_many([Plain(), other], ids=["free", "taken"])

        assert isinstance(refused.value.__cause__, TaskExists)
        assert (refused.value.index, refused.value.started) == (1, 0)
        assert "none of them is in the store" in str(refused.value)
        assert await ids(runtime) == ["taken"]


async def test_two_of_one_id_that_differ_are_refused(place: Place) -> None:
    async with place.runtime() as runtime:
        with pytest.raises(NotStarted, match="other fields") as refused:
            await runtime.start_many([Plain(), Plain(), Plain(topic="x")], ids=["b", "a", "a"])

        assert refused.value.index == 2
        assert await ids(runtime) == []


@pytest.mark.parametrize("place_of_it", [0, 3, TOGETHER, MANY - 1])
async def test_one_that_cannot_be_started_leaves_those_of_whole_commits_before_it(
    place_of_it: int,
) -> None:
    whole = place_of_it // TOGETHER * TOGETHER
    async with Runtime(":memory:", limits=Limits(value=100), tree=Pool(max_running=1)) as runtime:
        await held(runtime, Waiting.gate)
        actors = [Plain(topic="x" * 200 if n == place_of_it else str(n)) for n in range(MANY)]

        with pytest.raises(NotStarted, match="of Plain") as refused:
            await runtime.start_many(actors)

        assert isinstance(refused.value.__cause__, PayloadTooLarge)
        assert (refused.value.index, refused.value.started) == (place_of_it, whole)
        assert len(await ids(runtime)) == whole


@pytest.mark.parametrize(
    ("actor", "cause"), [(Plain, BadCall), (3, BadCall), (None, BadCall), (Actor(), BadActor)]
)
async def test_what_is_no_actor_is_named_with_its_place(actor: Any, cause: type[Exception]) -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(NotStarted, match=r"actors\[1\]") as refused:
            await runtime.start_many([Plain(), actor])

        assert isinstance(refused.value.__cause__, cause)
        assert await runtime.tasks() == []


@pytest.mark.parametrize("task_id", ["", "a\nb", 7])
async def test_an_id_that_cannot_be_kept_is_named_with_its_place(task_id: Any) -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(NotStarted, match=r"actors\[1\].*id="):
            await runtime.start_many([Plain(), Plain()], ids=["a", task_id])


@pytest.mark.parametrize(
    ("actors", "options", "what"),
    [
        (Plain(), {}, "actors"),
        ("Plain", {}, "actors"),
        (3, {}, "actors"),
        ([Plain()], {"ids": "a"}, "ids"),
        ([Plain()], {"ids": ["a", "b"]}, "ids"),
        ([Plain()], {"ids": []}, "ids"),
        ([Plain()], {"pool": "other"}, "pool"),
        ([Plain()], {"priority": 1.5}, "priority"),
    ],
)
async def test_a_call_that_makes_no_sense_is_refused_before_anything_is_written(
    actors: Any, options: dict[str, Any], what: str
) -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(BadCall, match=f"^{what}="):
            await runtime.start_many(actors, **options)

        assert await runtime.tasks() == []


@pytest.mark.parametrize("count", [1, 3])
async def test_iterators_of_which_one_ends_too_early_are_refused(count: int) -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(BadCall, match="one id for each actor"):
            await runtime.start_many(iter([Plain(), Plain()]), ids=map(str, range(count)))

        assert await runtime.tasks() == []


async def test_an_iterator_is_read_no_further_than_the_next_commit(gate: Gate) -> None:
    drawn: list[int] = []

    async with Runtime(":memory:", tree=Pool(max_running=1)) as runtime:
        await held(runtime, gate)

        def actors() -> Iterator[Plain]:
            for n in range(MANY):
                drawn.append(n)
                yield Plain(topic=str(n))

        async def drawn_at_the_first_start() -> int:
            async for _ in runtime.events(follow=True, actor=Plain):
                return len(drawn)
            raise AssertionError("nothing was started")

        first, _ = await asyncio.gather(drawn_at_the_first_start(), runtime.start_many(actors()))

    assert TOGETHER <= first <= 2 * TOGETHER
    assert drawn == list(range(MANY))


async def test_an_iterator_that_fails_leaves_those_of_whole_commits(gate: Gate) -> None:
    def actors() -> Iterable[Plain]:
        for n in range(TOGETHER + 5):
            yield Plain(topic=str(n))
        raise LookupError("no more")

    async with Runtime(":memory:", tree=Pool(max_running=1)) as runtime:
        await held(runtime, gate)
        with pytest.raises(LookupError):
            await runtime.start_many(actors())

        assert len(await ids(runtime)) == TOGETHER


@pytest.mark.parametrize("turns", [0, 5, 30, 45, 60])
async def test_cancelled_it_leaves_the_first_ones_without_a_gap(
    place: Place, gate: Gate, turns: int
) -> None:
    names = [f"{n:04}" for n in range(MANY)]
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await held(runtime, gate)
        actors = [Plain()] * MANY
        starting = asyncio.create_task(runtime.start_many(actors, ids=names))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait([starting])
        await runtime.start(Plain(), id="after")  # what was under way is committed by then

        found = [name for name in await ids(runtime) if name != "after"]
        assert found == names[: len(found)]
        assert len(found) in {0, TOGETHER, 2 * TOGETHER, MANY}


async def test_those_that_a_cancelled_call_has_started_run(place: Place) -> None:
    async with place.runtime() as runtime:
        starting = asyncio.create_task(runtime.start_many([Plain()], ids=["a"]))
        while (task := await runtime._open().store.task("a")) is None:  # pyright: ignore[reportPrivateUsage]  # before it is told
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait([starting])

        assert task.id == "a"
        assert await runtime.task("a", Plain).result() == "refunds: 2"


async def test_they_wait_for_their_turn_like_any_other(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await held(runtime, gate)
        await runtime.start_many([Waiting(name="low")])
        await runtime.start_many([Waiting(name="high")], priority=1)
        gate.open("holds", "high", "low")
        await gate.until("low")

        assert gate.order == ["holds", "high", "low"]


async def test_outside_its_block_a_runtime_starts_none() -> None:
    with pytest.raises(RuntimeClosed):
        await Runtime(":memory:").start_many([Plain()])


async def test_the_handles_are_typed_like_those_of_start() -> None:
    async with Runtime(":memory:") as runtime:
        flows = await runtime.start_many([Waiting(name="a")], ids=["a"])
        plans = await runtime.start_many(Plain() for _ in range(1))

        assert_type(flows, list[Task[str]])
        assert_type(plans, list[Task[Any]])
        assert (await plans[0].status()).status in set(Status)


class Refusing(MemoryStore):
    """A store that has failed to commit what is started by one call, and is not to be read."""

    failed = False

    def submit(self, draft: Draft) -> None:
        if self.failed and isinstance(draft.seal(), Births):
            draft.settle(StoreFailed("it", "the disk is gone"))
        else:
            super().submit(draft)

    async def named(self, ids: Collection[str]) -> list[TaskRow]:
        assert not self.failed, "it was read"
        return await super().named(ids)


async def test_the_failure_of_the_store_is_raised_as_it_is_and_at_once() -> None:
    store = Refusing(clock=SystemClock(), store_patience=60)
    async with Runtime(":memory:", store=store) as runtime:
        store.failed = True

        with pytest.raises(StoreFailed, match="the disk is gone"):
            await runtime.start_many([Plain()])
