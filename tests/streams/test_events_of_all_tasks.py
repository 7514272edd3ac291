"""`runtime.events`: one log of all tasks, from a cursor, over restarts."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import aclosing
from typing import Any

import pytest

from everstep import Actor, BadCall, Event, Pool, Runtime, RuntimeClosed, Status, Supervisor, step
from everstep.event_stream import LogStream
from everstep.storage import LogPage, MemoryStore
from everstep.testing import ManualClock
from tests.runtime.kit import Gate, Place, Plain, Waiting, followers, next_event, until


class Listener(Actor, name="streams.Listener"):
    """Waits for a word."""

    async def run(self) -> str:
        return await self.ctx.receive(str)


class Chatty(Actor, name="streams.Chatty"):
    """Emits many events in one step."""

    count: int

    @step
    async def talk(self) -> None:
        for number in range(self.count):
            self.ctx.emit("word", number)


async def everything(runtime: Runtime, **filters: Any) -> list[Event]:
    return [event async for event in runtime.events(**filters)]


async def events_until(runtime: Runtime, kind: str, **filters: Any) -> list[Event]:
    """Follow the log up to the first event of this kind."""
    seen: list[Event] = []
    async for event in runtime.events(follow=True, **filters):
        seen.append(event)
        if event.kind == kind:
            break
    return seen


async def test_the_events_of_all_tasks_come_in_one_order_without_gaps(place: Place) -> None:
    async with place.runtime() as runtime:
        tasks = [await runtime.start(Plain(topic=str(n)), id=f"task-{n}") for n in range(5)]
        for task in tasks:
            await task.result()
        events = await everything(runtime)

    numbers: dict[str, list[int]] = defaultdict(list)
    for event in events:
        numbers[event.task_id].append(event.number)
    assert set(numbers) == {task.id for task in tasks}
    assert all(seen == list(range(1, len(seen) + 1)) for seen in numbers.values())
    positions = [event.position for event in events]
    assert positions == list(range(positions[0], positions[0] + len(positions)))


async def test_an_event_is_the_same_in_the_log_of_its_task_and_in_that_of_all(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Plain())
        await task.result()

        assert [event async for event in task.events()] == await everything(runtime)


async def test_a_cursor_holds_over_deaths_and_restarts(place: Place, gate: Gate) -> None:
    seen: list[Event] = []
    async with place.runtime() as runtime:
        for name in "ab":
            await runtime.start(Waiting(name=name), id=name)
        await gate.until("a")
        await gate.until("b")
        seen += await events_until(runtime, "step_started")
        place.die()
    async with place.runtime() as runtime:
        seen += await events_until(runtime, "task_died", after=seen[-1].position)
    gate.open("a", "b")
    async with place.runtime() as runtime:
        for name in "ab":
            await runtime.task(name).result()
        seen += await everything(runtime, after=seen[-1].position)

        assert seen == await everything(runtime)
    assert [event.kind for event in seen].count("task_succeeded") == 2


async def test_a_follower_is_woken_by_the_commits_of_any_task(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        follower = asyncio.create_task(events_until(runtime, "task_succeeded"))
        await runtime.start(Waiting(name="a"), id="a")
        await gate.until("a")
        plain = await runtime.start(Plain(), id="plain")
        await plain.result()

        seen = await follower

        assert {event.task_id for event in seen} == {"a", "plain"}
        assert seen == (await everything(runtime))[: len(seen)]
        gate.open("a")


async def test_a_message_that_wakes_a_task_is_told_though_nobody_can_claim_it(
    place: Place, gate: Gate
) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        task = await runtime.start(Listener(), id="listener")
        await until(task, lambda info: info.status is Status.WAITING)
        place.clock.advance(10)
        gone = await next_event(task, "task_suspended")
        busy = await runtime.start(Waiting(name="busy"))
        await gate.until("busy")
        of_one = asyncio.create_task(next_event(task, "task_woken", after=gone.number))
        of_all = asyncio.create_task(events_until(runtime, "task_woken", after=gone.position))

        await task.send("hello")

        assert (await of_all)[-1] == await of_one
        gate.open("busy")
        assert await task.result() == "hello"
        await busy.result()


async def test_a_filter_goes_by_kind_actor_and_pool(place: Place) -> None:
    tree = Supervisor("root", children=[Pool("one"), Pool("two")])
    async with place.runtime(tree=tree) as runtime:
        first = await runtime.start(Plain(), pool="one", id="first")
        second = await runtime.start(Chatty(count=2), pool="two", id="second")
        for task in (first, second):
            await task.result()

        words = await everything(runtime, kind="word")
        ends = await everything(runtime, kind=["task_succeeded", "word"], pool="one")
        plain = await everything(runtime, actor=Plain)

        assert [event.data for event in words] == [{"value": 0}, {"value": 1}]
        assert [(event.kind, event.task_id) for event in ends] == [("task_succeeded", "first")]
        assert plain == [event async for event in first.events()]


async def test_a_rare_event_is_found_behind_any_number_of_others(place: Place) -> None:
    async with place.runtime() as runtime:
        await (await runtime.start(Chatty(count=4500), id="chatty")).result()
        follower = asyncio.create_task(events_until(runtime, "task_succeeded", actor=Plain))
        await (await runtime.start(Plain(), id="plain")).result()

        assert {event.task_id for event in await follower} == {"plain"}
        assert len(await everything(runtime, kind="word")) == 4500
        assert len(await everything(runtime, after=10)) == len(await everything(runtime)) - 10


async def test_who_follows_when_the_runtime_is_left_is_told(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        follower = asyncio.create_task(events_until(runtime, "never"))
        await runtime.start(Waiting(name="a"))
        await gate.until("a")

    with pytest.raises(RuntimeClosed, match="it was left"):
        await follower


async def test_of_several_who_take_from_one_reader_each_event_goes_to_one(place: Place) -> None:
    async with place.runtime() as runtime:
        await (await runtime.start(Plain())).result()
        whole = [event async for event in runtime.events()]
        reader = runtime.events()

        async def take() -> list[Event]:
            return [event async for event in reader]

        taken = await asyncio.gather(*[take() for _ in range(3)])

    assert sorted(event.position for part in taken for event in part) == [
        event.position for event in whole
    ]


async def test_leaving_the_log_of_all_leaves_nothing_behind(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        await runtime.start(Waiting(name="a"))
        await gate.until("a")

        async for _ in runtime.events(follow=True):
            break
        follower = asyncio.create_task(events_until(runtime, "never"))
        await events_until(runtime, "step_started")
        follower.cancel()
        await asyncio.wait([follower])

        assert followers(runtime) == 0
        gate.open("a")


class Counting(MemoryStore):
    """Counts the pages that were asked for."""

    pages = 0

    async def log(self, **asked: Any) -> LogPage:
        self.pages += 1
        return await super().log(**asked)


async def test_a_slow_reader_holds_one_page_whatever_comes_meanwhile() -> None:
    clock = ManualClock()
    store = Counting(clock=clock)
    async with Runtime(":memory:", store=store, clock=clock, blocked_after=None) as runtime:
        await (await runtime.start(Plain(), id="plain")).result()
        stream = runtime.events(follow=True)
        assert isinstance(stream, LogStream)
        async with aclosing(stream) as slow:
            seen = [await anext(slow)]

            await (await runtime.start(Chatty(count=5000), id="chatty")).result()

            assert store.pages == 1
            async for event in slow:
                seen.append(event)
                if event.kind == "task_succeeded" and event.task_id == "chatty":
                    break
            assert seen == await everything(runtime)
    store.discard()


@pytest.mark.parametrize("wrong", [{"after": -1}, {"after": "x"}, {"kind": [3]}, {"pool": ""}])
async def test_a_wrong_cursor_or_filter_is_refused_at_once(
    place: Place, wrong: dict[str, Any]
) -> None:
    async with place.runtime() as runtime:
        with pytest.raises(BadCall):
            runtime.events(**wrong)
