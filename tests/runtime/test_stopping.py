"""Leaving a runtime: in order, bounded, whatever the tasks and the caller do."""

import asyncio
from typing import Any, ClassVar

import pytest

from everstep import Actor, Runtime, Status, step
from tests.runtime.kit import ONCE, Gate, Place, Plain, Waiting, kinds, next_event


class Stubborn(Actor, name="stopping.Stubborn"):
    """Swallows its cancellation, or answers it slowly, as the class is told."""

    gate: ClassVar[Gate] = Gate()
    swallow: ClassVar[bool] = True
    cleaned: ClassVar[list[str]] = []
    place: str = "resist"

    @step(retry=ONCE)
    async def resist(self) -> None:
        while True:
            try:
                await self.gate.stop_at(self.place)
            except asyncio.CancelledError:
                Stubborn.cleaned.append("asked")
                if not Stubborn.swallow:
                    raise

    async def run(self) -> None:
        await self.resist()


class Clinging(Actor, name="stopping.Clinging"):
    """Awaits a child of its own that swallows its end until it is let go."""

    gate: ClassVar[Gate] = Gate()
    children: ClassVar[list[asyncio.Future[Any]]] = []

    @step(retry=ONCE)
    async def cling(self) -> None:
        child = asyncio.ensure_future(self._child())
        self.children.append(child)
        await asyncio.gather(child)

    async def run(self) -> None:
        await self.cling()

    @classmethod
    async def _child(cls) -> None:
        while True:
            try:
                return await cls.gate.stop_at("cling")
            except asyncio.CancelledError:
                continue


@pytest.fixture(autouse=True)
def _fresh() -> None:
    Stubborn.gate, Stubborn.swallow, Stubborn.cleaned = Gate(), True, []


async def running(runtime: Runtime, gate: Gate, actor: Actor, name: str, place: str) -> Any:
    task = await runtime.start(actor, id=name)
    await gate.until(place)
    return task


async def test_a_step_that_ends_within_the_grace_keeps_its_checkpoint(
    place: Place, gate: Gate
) -> None:
    async with place.runtime(grace=10) as runtime:
        await running(runtime, gate, Waiting(name="a"), "a", "a")
        asyncio.get_running_loop().call_soon(gate.open, "a")

    async with place.runtime() as runtime:
        task = runtime.task("a", Waiting)
        assert await task.result() == "a"
        log = await kinds(task)

    assert gate.order == ["a"]
    assert log.count("task_released") == 1


async def test_a_step_that_takes_longer_is_cut_given_back_and_not_charged(
    place: Place, gate: Gate
) -> None:
    async with place.runtime(grace=10) as runtime:
        await running(runtime, gate, Waiting(name="a"), "a", "a")
        advance = asyncio.create_task(_advance_when_waited(place, 10))

    await advance
    async with place.runtime() as runtime:
        task = runtime.task("a", Waiting)
        await next_event(task, "task_claimed", after=4)
        gate.open("a")
        assert await task.result() == "a"
        info = await task.status()
        steps = await task.steps()

    assert (info.crashes, info.deaths, info.incarnation) == (0, 0, 2)
    assert (steps[0].attempts, steps[0].executions) == (1, 2)


async def _advance_when_waited(place: Place, *spans: float) -> None:
    for seconds in spans:
        await place.clock.until_waiting(within=seconds)
        place.clock.advance(seconds)


async def turns(number: int) -> None:
    """Let the loop turn so often, for what needs no more than that."""
    for _ in range(number):
        await asyncio.sleep(0)


async def test_an_exception_of_the_body_stops_in_order_and_is_raised(
    place: Place, gate: Gate
) -> None:
    async def body() -> None:
        async with place.runtime(grace=0) as runtime:
            await running(runtime, gate, Waiting(name="a"), "a", "a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await body()
    await _was_given_back(place, "a")


async def _was_given_back(place: Place, task_id: str) -> None:
    async with place.runtime(actors=[Plain]) as runtime:
        task = runtime.task(task_id)
        info = await task.status()
        assert info.status is Status.QUEUED
        assert info.deaths == 0
        assert "task_released" in await kinds(task)


async def test_cancelling_the_body_stops_in_order(place: Place, gate: Gate) -> None:
    async def body() -> None:
        async with place.runtime(grace=0) as runtime:
            await running(runtime, gate, Waiting(name="a"), "a", "a")
            await asyncio.get_running_loop().create_future()

    served = asyncio.create_task(body())
    await gate.until("a")
    served.cancel()
    await asyncio.wait([served])

    assert served.cancelled()
    await _was_given_back(place, "a")


async def test_a_cancellation_while_leaving_is_raised_after_all_is_done(
    place: Place, gate: Gate
) -> None:
    async def body() -> None:
        async with place.runtime(grace=10) as runtime:
            await running(runtime, gate, Waiting(name="a"), "a", "a")

    served = asyncio.create_task(body())
    await gate.until("a")
    await turns(5)
    served.cancel()
    await turns(5)
    assert not served.done()
    gate.open("a")
    await asyncio.wait([served])

    assert served.cancelled()
    await _was_given_back(place, "a")


async def test_the_second_request_to_end_gives_no_more_grace(place: Place, gate: Gate) -> None:
    async def body() -> None:
        async with place.runtime(grace=1000) as runtime:
            await running(runtime, gate, Waiting(name="a"), "a", "a")

    served = asyncio.create_task(body())
    await gate.until("a")
    for _ in range(2):
        await turns(5)
        assert not served.done()
        served.cancel()
    await asyncio.wait([served])

    assert served.cancelled()
    await _was_given_back(place, "a")


async def test_a_step_that_swallows_its_end_is_severed_and_named(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with place.runtime(grace=0) as runtime:
        await running(runtime, Stubborn.gate, Stubborn(), "s", "resist")
        advance = asyncio.create_task(_advance_when_waited(place, 5, 0.1))

    await advance
    assert Stubborn.cleaned == ["asked"]
    assert "late when the pool tasks stopped: s resist" in caplog.text
    await _was_given_back(place, "s")


async def test_a_task_that_never_ends_is_given_back_on_its_behalf(place: Place) -> None:
    Clinging.gate, Clinging.children = Gate(), []
    async with place.runtime(grace=0) as runtime:
        await running(runtime, Clinging.gate, Clinging(), "c", "cling")
        advance = asyncio.create_task(_advance_when_waited(place, 5, 0.1, 0.1))

    advance.cancel()
    assert not Clinging.children[0].done()
    await _was_given_back(place, "c")

    Clinging.gate.open("cling")
    await asyncio.wait(Clinging.children)


async def test_many_tasks_are_released_side_by_side(place: Place, gate: Gate) -> None:
    async with place.runtime(grace=10) as runtime:
        for number in range(200):
            await runtime.start(Waiting(name=f"n{number}"))
        await asyncio.gather(*(gate.until(f"n{number}") for number in range(200)))
        begun = place.clock.monotonic()
        advance = asyncio.create_task(_advance_when_waited(place, 10))

    await advance
    assert place.clock.monotonic() - begun == 10
    async with place.runtime(actors=[Plain]) as runtime:
        assert len(await runtime.tasks(status=Status.QUEUED, limit=1000)) == 200


async def test_of_many_that_are_late_the_log_names_twenty_and_counts_the_others(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with place.runtime(grace=0) as runtime:
        for name in (f"s{number}" for number in range(25)):
            await running(runtime, Stubborn.gate, Stubborn(place=name), name, name)
        advance = asyncio.create_task(_advance_when_waited(place, 5, 0.1))

    await advance
    late = [line for line in caplog.messages if line.startswith("late when the pool tasks")]
    assert late[0] == "late when the pool tasks stopped: s0 resist"
    assert late[20:] == ["late when the pool tasks stopped: 5 more"]


async def test_leaving_at_once_after_a_start_loses_nothing(place: Place) -> None:
    async with place.runtime(grace=0) as runtime:
        for number in range(20):
            await runtime.start(Plain(), id=str(number))

    async with place.runtime() as runtime:
        for number in range(20):
            assert await runtime.task(str(number)).result() == "refunds: 2"
            assert (await runtime.task(str(number)).status()).deaths == 0


async def test_a_runtime_can_be_entered_again(place: Place) -> None:
    runtime = place.runtime()
    async with runtime:
        await (await runtime.start(Plain(), id="a")).result()
    async with runtime:
        assert await runtime.task("a").result() == "refunds: 2"


async def test_code_of_tasks_runs_in_no_context_of_who_started_them(place: Place) -> None:
    from contextvars import ContextVar

    request: ContextVar[str] = ContextVar("request", default="none")
    seen: list[str] = []

    class Looking(Actor):
        @step
        async def look(self) -> None:
            seen.append(request.get())

    request.set("request-1")
    async with place.runtime() as runtime:
        await (await runtime.start(Plain())).result()
        await (await runtime.start(Looking())).result()

    assert seen == ["none"]


async def test_no_asyncio_task_is_left(place: Place, gate: Gate) -> None:
    before = asyncio.all_tasks()
    async with place.runtime(grace=0) as runtime:
        await running(runtime, gate, Waiting(name="a"), "a", "a")
        await (await runtime.start(Plain())).result()

    assert asyncio.all_tasks() == before
