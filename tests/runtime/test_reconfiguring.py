"""A running pool goes on by another policy without touching what runs."""

from __future__ import annotations

from typing import Any

from everstep import Restart, Runtime, Status
from tests.runtime.kit import Gate, Place, Unsteady, Waiting, until
from tests.runtime.pools import pool_of


async def start(runtime: Runtime, *names: str, lane: str | None = None) -> None:
    for name in names:
        await runtime.start(Waiting(name=name), id=name, lane=lane)


async def reconfigure(runtime: Runtime, **changes: Any) -> None:
    await pool_of(runtime).reconfigure(**changes)


async def running(runtime: Runtime) -> list[str]:
    return [info.id for info in await runtime.tasks(status=Status.RUNNING)]


async def test_a_lower_limit_ends_nothing_and_a_higher_one_lets_in_at_once(
    place: Place, gate: Gate
) -> None:
    async with place.runtime(pool={"max_running": 3}) as runtime:
        await start(runtime, *"abcde")
        await gate.until("c")

        await reconfigure(runtime, max_running=1)
        gate.open("a", "b")
        await runtime.task("a").result()
        await runtime.task("b").result()
        assert await running(runtime) == ["c"]
        assert (pool_of(runtime).info().running, pool_of(runtime).info().max_running) == (1, 1)

        await reconfigure(runtime, max_running=3)
        await gate.until("d")
        await gate.until("e")
        gate.open(*"cde")


async def test_the_limit_of_lanes_can_be_set_raised_and_dropped(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        await start(runtime, "a", lane="x")
        await gate.until("a")
        await reconfigure(runtime, max_running_per_lane=1)
        await start(runtime, *"bcd", lane="x")
        assert await running(runtime) == ["a"]

        await reconfigure(runtime, max_running_per_lane=2)
        await gate.until("b")
        assert await running(runtime) == ["a", "b"]
        await reconfigure(runtime, max_running_per_lane=None)
        await gate.until("d")
        gate.open(*"abcd")


async def test_a_rate_can_be_raised_and_dropped(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"rate": (1, 10)}) as runtime:
        await start(runtime, *"abcde")
        await gate.until("a")
        assert await running(runtime) == ["a"]

        await reconfigure(runtime, rate=(3, 10))
        await gate.until("c")
        assert pool_of(runtime).info().starts == 3
        await reconfigure(runtime, rate=None)
        await gate.until("e")
        assert pool_of(runtime).info().starts == 0
        gate.open(*"abcde")


async def test_the_next_crash_is_judged_by_the_new_policy(place: Place) -> None:
    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        await reconfigure(runtime, restart=Restart(2), storm=(1, 60))
        Unsteady.errors = [ValueError("no"), ValueError("no")]
        task = await runtime.start(Unsteady())

        assert (await until(task, lambda info: info.crashes == 2)).status is Status.QUEUED
        assert pool_of(runtime).info().storm is not None
        await reconfigure(runtime, storm=None)
        assert await task.result() == "at last"


async def test_what_a_pool_shows_is_a_picture_of_one_moment(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 2, "rate": (9, 60)}) as runtime:
        await start(runtime, "a", lane="x")
        await gate.until("a")
        info = pool_of(runtime).info()
        await start(runtime, "b", "c")
        await gate.until("b")

        assert (info.name, info.running, info.max_running, info.lanes) == ("tasks", 1, 2, {"x": 1})
        assert (info.storm, info.crashes, info.starts, info.suspects) == (None, 0, 1, ())
        assert info.next_look is None
        assert pool_of(runtime).info().lanes == {"x": 1, None: 1}
        gate.open("a", "b", "c")
