"""A step that backs off for long holds no slot of its pool, and gets one before it goes on."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from everstep import Actor, Retry, Runtime, Status, step
from tests.runtime.kit import Gate, Place, Plain, Waiting, next_event, until
from tests.runtime.pools import pool_of

LONG, SHORT, CALM = 600.0, 5.0, 1.0


class Failing(Actor, name="long_backoffs.Failing"):
    """Fails in its first attempt, and stops at the gate in the second."""

    gate: ClassVar[Gate] = Gate()
    backoff: ClassVar[float] = LONG
    failed: ClassVar[set[str]] = set()

    name: str

    @step(retry=Retry(max_attempts=3, backoff=lambda _: Failing.backoff, jitter="none"))
    async def work(self) -> str:
        if self.name not in self.failed:
            self.failed.add(self.name)
            raise ValueError("not yet")
        await self.gate.stop_at(self.name)
        return self.name


class Wishing(Actor, name="long_backoffs.Wishing"):
    """One step that fails and backs off for long; then a second one is called."""

    go: ClassVar[asyncio.Event]
    called: ClassVar[asyncio.Event]
    second: ClassVar[asyncio.Task[None]]

    @step(retry=Retry(max_attempts=2, backoff=lambda _: LONG, jitter="none"))
    async def fails(self) -> None:
        raise ValueError("not yet")

    @step
    async def other(self) -> None: ...

    async def run(self) -> None:
        first = asyncio.create_task(self.fails())
        await self.go.wait()
        Wishing.second = asyncio.create_task(self.other())
        await asyncio.sleep(0)  # it waits for a slot now
        self.called.set()
        await first


class Beside(Actor, name="long_backoffs.Beside"):
    """One step that fails and backs off for long, and beside it others, one after the other."""

    gate: ClassVar[Gate] = Gate()

    others: int = 1

    @step(retry=Retry(max_attempts=3, backoff=lambda _: LONG, jitter="none"))
    async def flaky(self) -> None:
        raise ValueError("not yet")

    @step(key="name")
    async def other(self, name: str) -> None:
        await self.gate.stop_at(name)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.flaky())
            for number in range(self.others):
                await self.other(f"other {number + 1}" if number else "other")


async def failing(
    runtime: Runtime, *names: str, backoff: float = LONG, lane: str | None = None
) -> None:
    """Start tasks of these names, and wait until each has failed once."""
    Failing.gate, Failing.backoff, Failing.failed = Gate(), backoff, set()
    for name in names:
        task = await runtime.start(Failing(name=name), id=name, lane=lane)
        await next_event(task, "step_failed")


async def test_a_long_backoff_leaves_its_slot_to_others(place: Place) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await failing(runtime, "a")
        assert await (await runtime.start(Plain())).result() == "refunds: 2"
        task = runtime.task("a", Failing)
        assert (await task.status()).status is Status.RUNNING

        place.clock.advance(LONG)
        await Failing.gate.until("a")
        assert pool_of(runtime).info().running == 1
        Failing.gate.open("a")
        assert await task.result() == "a"
        assert [one.attempts for one in await task.steps()] == [2]


async def test_a_short_backoff_keeps_its_slot(place: Place) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await failing(runtime, "a", backoff=SHORT)
        waiting = await runtime.start(Plain())
        assert pool_of(runtime).info().running == 1
        assert (await waiting.status()).status is Status.QUEUED

        place.clock.advance(SHORT)
        await Failing.gate.until("a")
        Failing.gate.open("a")
        assert await waiting.result() == "refunds: 2"


async def come(number: int) -> str:
    """The name of the task that came to the gate at this place."""
    while len(Failing.gate.order) <= number:
        await asyncio.sleep(0)
    return Failing.gate.order[number]


async def test_backoffs_that_end_together_wait_for_slots_and_go_before_the_queue(
    place: Place,
) -> None:
    async with place.runtime(pool={"max_running": 2}) as runtime:
        await failing(runtime, *"abcde")
        place.clock.advance(LONG)
        await come(1)
        queued = await runtime.start(Plain())
        assert (len(Failing.gate.order), pool_of(runtime).info().running) == (2, 2)
        for number in range(3):
            Failing.gate.open(await come(number))
            await come(number + 2)
            assert pool_of(runtime).info().running == 2
            assert (await queued.status()).status is Status.QUEUED

        Failing.gate.open(*Failing.gate.order)
        assert await queued.result() == "refunds: 2"


async def test_a_slot_that_a_given_up_call_has_waited_for_goes_to_others(place: Place) -> None:
    Wishing.go, Wishing.called, Waiting.gate = asyncio.Event(), asyncio.Event(), Gate()
    async with place.runtime(pool={"max_running": 1}) as runtime:
        task = await runtime.start(Wishing())
        await next_event(task, "step_failed")
        holder = await runtime.start(Waiting(name="b"))
        await Waiting.gate.until("b")
        Wishing.go.set()
        await Wishing.called.wait()
        Wishing.second.cancel()
        await asyncio.wait([Wishing.second])

        Waiting.gate.open("b")
        await holder.result()
        place.clock.advance(CALM)
        assert await (await runtime.start(Plain())).result() == "refunds: 2"
        assert (await task.status()).status is Status.RUNNING


async def test_a_lane_whose_backoffs_end_beyond_its_limit_holds_up_no_other(place: Place) -> None:
    one_each = {"max_running": 3, "max_running_per_lane": 1}
    async with place.runtime(pool=one_each) as runtime:
        await failing(runtime, *"abcde", lane="theirs")
        place.clock.advance(LONG)
        await come(0)
        assert await (await runtime.start(Plain(), lane="ours")).result() == "refunds: 2"
        assert pool_of(runtime).info().lanes["theirs"] == 1


async def test_a_slot_is_left_when_the_last_step_beside_a_long_backoff_has_ended(
    place: Place,
) -> None:
    Beside.gate = Gate()
    async with place.runtime(pool={"max_running": 1}) as runtime:
        task = await runtime.start(Beside())
        failed = await next_event(task, "step_failed")
        await Beside.gate.until("other")
        waiting = await runtime.start(Plain())
        assert (await waiting.status()).status is Status.QUEUED
        assert (await task.status()).due_at is None

        Beside.gate.open("other")
        await until(task, lambda info: info.due_at is not None)
        place.clock.advance(CALM)
        assert await waiting.result() == "refunds: 2"
        assert (await task.status()).status is Status.RUNNING
        place.clock.advance(LONG)
        assert (await next_event(task, "step_started", after=failed.number)).step == "flaky"


async def test_a_step_that_follows_at_once_keeps_the_slot(place: Place) -> None:
    Beside.gate = Gate()
    async with place.runtime(pool={"max_running": 1}) as runtime:
        task = await runtime.start(Beside(others=2))
        failed = await next_event(task, "step_failed")
        waiting = await runtime.start(Plain())
        Beside.gate.open("other")
        await next_event(task, "step_completed", after=failed.number)
        await Beside.gate.until("other 2")
        place.clock.advance(CALM)
        assert (await waiting.status()).status is Status.QUEUED
        assert pool_of(runtime).info().running == 1


async def test_a_task_cancelled_while_it_wants_its_slot_leaves_it_to_the_next(
    place: Place,
) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await failing(runtime, *"abc")
        place.clock.advance(LONG)
        first = await come(0)
        cancelled, last = sorted({"a", "b", "c"} - {first})
        assert await runtime.task(cancelled).cancel()
        Failing.gate.open(first, last)

        assert await runtime.task(last, Failing).result() == last
        assert (await runtime.task(cancelled).status()).status is Status.CANCELLED
        assert await (await runtime.start(Plain())).result() == "refunds: 2"
