"""Tasks of several lanes share the slots of a pool."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everstep import BadCall, Pool, Restart, Runtime, Status, TaskExists
from tests.runtime.kit import Gate, Place, Plain, Unsteady, Waiting, until
from tests.runtime.pools import pool_of, until_empty

ONE_EACH: dict[str, Any] = {"max_running": 9, "max_running_per_lane": 1}


async def start(runtime: Runtime, name: str, lane: str | None, priority: int = 0) -> None:
    await runtime.start(Waiting(name=name), id=name, lane=lane, priority=priority)


async def statuses(runtime: Runtime) -> dict[str, str]:
    return {info.id: str(info.status) for info in await runtime.tasks(actor=Waiting)}


async def test_lanes_take_turns_and_those_without_one_are_one_more(
    place: Place, gate: Gate
) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await start(runtime, "first", None)
        await gate.until("first")
        for name in ("a1", "a2", "a3", "b1", "b2", "n1", "n2"):
            await start(runtime, name, None if name[0] == "n" else name[0])
        gate.open("first", "a1", "a2", "a3", "b1", "b2", "n1", "n2")
        for info in await runtime.tasks():
            await runtime.task(info.id).result()

    assert gate.order == ["first", "a1", "b1", "n1", "a2", "b2", "n2", "a3"]


async def test_a_slot_goes_to_the_lane_with_the_fewest_running(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 3}) as runtime:
        for name in ("a1", "a2", "b1"):
            await start(runtime, name, name[0])
            await gate.until(name)
        for name in ("a3", "b2", "c1", "c2"):
            await start(runtime, name, name[0])

        gate.open("a1")
        await gate.until("c1")
        gate.open("a2")
        await gate.until("a3")
        gate.open("c1")
        await gate.until("c2")
        gate.open("a3", "b1", "b2", "c2")
        await runtime.task("b2").result()

    assert gate.order == ["a1", "a2", "b1", "c1", "a3", "c2", "b2"]


async def test_a_higher_priority_goes_before_every_turn(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await start(runtime, "first", "a")
        await gate.until("first")
        await start(runtime, "b1", "b")
        await start(runtime, "a1", "a", priority=1)
        await start(runtime, "a2", "a", priority=1)
        gate.open("first", "a1", "a2", "b1")
        for name in ("a1", "a2", "b1"):
            await runtime.task(name).result()

    assert gate.order == ["first", "a1", "a2", "b1"]


async def test_a_lane_at_its_limit_waits_and_blocks_nobody(place: Place, gate: Gate) -> None:
    async with place.runtime(pool=ONE_EACH) as runtime:
        await start(runtime, "a1", "a")
        await gate.until("a1")
        await start(runtime, "a2", "a", priority=9)
        for name, lane in (("b1", "b"), ("n1", None), ("n2", None)):
            await start(runtime, name, lane, priority=-9)
            await gate.until(name)

        assert (await statuses(runtime))["a2"] == "queued"
        assert pool_of(runtime).info().lanes == {"a": 1, "b": 1, None: 2}
        gate.open("a1")
        await gate.until("a2")
        gate.open("a2", "b1", "n1", "n2")


async def test_a_start_finds_no_room_in_a_lane_that_is_full(place: Place, gate: Gate) -> None:
    async with place.runtime(pool=ONE_EACH) as runtime:
        await (await runtime.start(Plain())).result()  # from here on the queue is known to be empty
        await start(runtime, "a1", "a")
        await start(runtime, "a2", "a")
        await start(runtime, "b1", "b")
        await gate.until("b1")

        assert await statuses(runtime) == {"a1": "running", "a2": "queued", "b1": "running"}
        gate.open("a1", "a2", "b1")
        assert await runtime.task("a2").result() == "a2"


async def _cancelled(runtime: Runtime) -> None:
    await runtime.task("held").cancel()


async def _succeeded(runtime: Runtime) -> None:
    Waiting.gate.open("held")


@pytest.mark.parametrize("end", [_cancelled, _succeeded])
async def test_the_slot_of_a_lane_is_free_again_however_a_task_ends(
    place: Place, gate: Gate, end: Any
) -> None:
    async with place.runtime(pool=ONE_EACH) as runtime:
        await start(runtime, "held", "a")
        await gate.until("held")
        await start(runtime, "next", "a")

        await end(runtime)

        await gate.until("next")
        gate.open("next")
        assert await runtime.task("next").result() == "next"
        await until_empty(pool_of(runtime))


@pytest.mark.parametrize("give_up", ["fail", "pause"])
async def test_the_slot_of_a_lane_is_free_again_when_a_task_is_given_up(
    place: Place, give_up: Any
) -> None:
    Unsteady.errors = [ValueError("no"), SystemError("no"), asyncio.CancelledError()]
    restart = Restart(1, on_give_up=give_up)
    async with place.runtime(pool=ONE_EACH | {"restart": restart}) as runtime:
        for n in range(2):
            await runtime.start(Unsteady(), id=str(n), lane="a")

        given_up = await until(runtime.task("0"), lambda info: info.status != "queued")
        assert await runtime.task("1").result() == "at last"
        assert given_up.crashes <= 2
        await until_empty(pool_of(runtime))


async def test_a_start_that_fails_takes_no_slot_of_its_lane(place: Place, gate: Gate) -> None:
    async with place.runtime(pool=ONE_EACH) as runtime:
        await (await runtime.start(Plain(), id="taken")).result()
        for _ in range(3):
            with pytest.raises(TaskExists):
                await runtime.start(Waiting(name="x"), id="taken", lane="a")

        assert await (await runtime.start(Plain(), lane="a")).result() == "refunds: 2"
        await until_empty(pool_of(runtime))


async def test_a_start_cancelled_at_any_await_takes_no_slot_of_its_lane(place: Place) -> None:
    async with place.runtime(pool={"max_running": 1, "max_running_per_lane": 1}) as runtime:
        await (await runtime.start(Plain())).result()
        for turns in range(25):
            starting = asyncio.create_task(runtime.start(Plain(), id=str(turns), lane="a"))
            for _ in range(turns):
                await asyncio.sleep(0)
            starting.cancel()
            await asyncio.wait([starting])

            assert await (await runtime.start(Plain(), lane="a")).result() == "refunds: 2"
        await until_empty(pool_of(runtime))


async def test_after_a_death_no_more_of_a_lane_run_than_before(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 3}) as runtime:
        for name in ("a1", "a2", "b1"):
            await start(runtime, name, name[0])
            await gate.until(name)
        place.die()
    gate = Waiting.gate = Gate()

    async with place.runtime(pool=ONE_EACH) as runtime:
        await gate.until("a1")
        await gate.until("b1")
        assert await statuses(runtime) == {"a1": "running", "a2": "queued", "b1": "running"}
        gate.open("a1", "a2", "b1")
        assert await runtime.task("a2").result() == "a2"


async def test_suspects_wait_for_a_slot_of_their_lane(place: Place, gate: Gate) -> None:
    for _ in range(2):
        async with place.runtime() as runtime:
            for name in ("a1", "a2"):
                await start(runtime, name, "a")
                await gate.until(name)
            place.die()
        gate = Waiting.gate = Gate()

    async with place.runtime(pool=ONE_EACH) as runtime:
        await gate.until("a1")
        assert pool_of(runtime).info().suspects == ("a1",)
        place.clock.advance(300)  # it has lived for long enough to be no suspect
        assert pool_of(runtime).info().suspects == ()
        assert await statuses(runtime) == {"a1": "running", "a2": "queued"}

        gate.open("a1")
        await gate.until("a2")
        gate.open("a2")
        assert await runtime.task("a2").result() == "a2"


@pytest.mark.parametrize("lane", ["", "x" * 201, "a\nb", 7])
async def test_a_lane_that_cannot_be_kept_is_refused(lane: Any) -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(BadCall, match="lane="):
            await runtime.start(Plain(), lane=lane)


async def test_tasks_show_their_lane_and_are_found_by_it(place: Place) -> None:
    async with place.runtime() as runtime:
        for n, lane in enumerate(("ann", None, "bob", "ann")):
            await (await runtime.start(Plain(), id=str(n), lane=lane)).result()

        assert (await runtime.task("0").status()).lane == "ann"
        assert [info.id for info in await runtime.tasks(lane="ann")] == ["0", "3"]
        assert [info.lane for info in await runtime.tasks(pool=Pool().name)] == [
            "ann", None, "bob", "ann"
        ]  # fmt: skip
        assert await runtime.tasks(pool="other") == []
        assert await runtime.tasks(lane="ann", status=Status.PAUSED) == []
