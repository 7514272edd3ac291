"""Who is let in, in which order, and what waiting costs."""

import asyncio
from typing import Any

import pytest

from everstep import Restart, Status
from everstep.storage.sqlite.hops import NAME
from tests.runtime.kit import Gate, Place, Plain, Unsteady, Waiting, next_event, until


async def test_no_more_run_than_the_pool_allows(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 2}) as runtime:
        tasks = [await runtime.start(Waiting(name=name)) for name in "abcd"]
        await gate.until("a")
        await gate.until("b")
        running = await runtime.tasks(status=Status.RUNNING)
        assert [info.id for info in running] == [task.id for task in tasks[:2]]

        gate.open("b")
        await gate.until("c")
        gate.open("a", "c")
        await gate.until("d")
        gate.open("d")

        assert [await task.result() for task in tasks] == list("abcd")
    assert gate.order == list("abcd")


async def test_the_queue_is_served_by_priority_then_by_age(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        first = await runtime.start(Waiting(name="first"))
        await gate.until("first")
        names = {"old": 0, "new": 0, "urgent": 5, "idle": -5}
        tasks = [
            await runtime.start(Waiting(name=name), priority=priority)
            for name, priority in names.items()
        ]
        gate.open("first", *names)

        for task in (first, *tasks):
            await task.result()

    assert gate.order == ["first", "urgent", "old", "new", "idle"]


def _tasks() -> list[asyncio.Task[Any]]:
    """Those that stay; the store's reader comes and goes."""
    return [task for task in asyncio.all_tasks() if task.get_name() != NAME]


async def test_a_task_that_is_queued_costs_a_row_and_nothing_else(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await runtime.start(Waiting(name="first"))
        await gate.until("first")
        before = len(_tasks())
        timers = place.clock.waiting()

        for number in range(300):
            await runtime.start(Plain(), id=str(number))

        assert len(_tasks()) == before
        assert place.clock.waiting() == timers
        gate.open("first")
        for number in range(300):
            assert await runtime.task(str(number)).result() == "refunds: 2"


async def test_a_start_does_not_overtake_the_queue(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await runtime.start(Waiting(name="first"))
        await gate.until("first")
        waiting = await runtime.start(Waiting(name="second"))
        gate.open("first")
        await gate.until("second")
        late = await runtime.start(Waiting(name="third"))
        assert (await late.status()).status is Status.QUEUED

        gate.open("second", "third")

        assert await waiting.result() == "second"
        assert await late.result() == "third"


async def test_slots_are_free_again_whatever_a_task_does(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 1, "restart": Restart(0)}) as runtime:
        for error in (ValueError("no"), asyncio.CancelledError(), None):
            Unsteady.errors = [] if error is None else [error]
            await until(await runtime.start(Unsteady()), lambda info: info.status in _ENDED)
        cancelled = await runtime.start(Waiting(name="a"))
        await gate.until("a")
        await cancelled.cancel()

        assert await (await runtime.start(Plain())).result() == "refunds: 2"


_ENDED = {Status.FAILED, Status.SUCCEEDED, Status.CANCELLED}


async def test_a_cancellation_that_nobody_asked_for_is_a_crash(place: Place) -> None:
    Unsteady.errors = [asyncio.CancelledError()]
    async with place.runtime() as runtime:
        task = await runtime.start(Unsteady())

        assert "UnaskedCancellation" in (await next_event(task, "task_crashed")).data["error"]
        assert await task.result() == "at last"


@pytest.mark.parametrize("number", [1, 63, 64, 65, 200])
async def test_a_queue_of_any_length_is_taken_up_after_a_restart(number: int) -> None:
    place = Place(None)
    async with place.runtime(actors=[Unsteady]) as runtime:
        for n in range(number):
            await runtime.start(Waiting(name=str(n)), id=str(n))
    gate = Waiting.gate = Gate()
    gate.open(*(str(n) for n in range(number)))

    async with place.runtime() as runtime:
        for n in range(number):
            assert await runtime.task(str(n)).result() == str(n)
    place.discard()
