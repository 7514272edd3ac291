"""A pool lets in no faster than its rate, and slowly while a storm lasts."""

from __future__ import annotations

import pytest

from everstep import Restart, Runtime, Status
from tests.runtime.kit import Gate, Place, Plain, Unsteady, Waiting, heard, next_event, until
from tests.runtime.pools import pool_of, until_empty


async def start(runtime: Runtime, *names: str) -> None:
    for name in names:
        await runtime.start(Waiting(name=name), id=name)


async def queued(runtime: Runtime) -> list[str]:
    return [info.id for info in await runtime.tasks(status=Status.QUEUED)]


async def test_no_more_are_let_in_than_the_rate_allows(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"rate": (2, 10)}) as runtime:
        await start(runtime, *"abcde")
        await gate.until("b")
        await place.clock.until_waiting(within=10)
        assert await queued(runtime) == ["c", "d", "e"]

        place.clock.advance(9)
        assert await queued(runtime) == ["c", "d", "e"]
        place.clock.advance(1)
        await gate.until("d")
        assert await queued(runtime) == ["e"]
        assert pool_of(runtime).info().starts == 2
        await place.clock.until_waiting(within=10)
        place.clock.advance(10)
        await gate.until("e")
        gate.open(*"abcde")


async def test_a_start_that_finds_room_counts_and_waits_like_the_others(
    place: Place, gate: Gate
) -> None:
    async with place.runtime(pool={"rate": (2, 10)}) as runtime:
        await (await runtime.start(Plain())).result()
        await start(runtime, "a", "b")

        await gate.until("a")
        assert await queued(runtime) == ["b"]
        await place.clock.until_waiting(within=10)
        place.clock.advance(10)
        await gate.until("b")
        gate.open("a", "b")


async def test_a_restart_after_a_crash_counts_in_the_rate(place: Place) -> None:
    Unsteady.errors = [ValueError("no")]
    async with place.runtime(pool={"rate": (1, 10)}) as runtime:
        task = await runtime.start(Unsteady(), id="x")
        await next_event(task, "task_crashed")
        await place.clock.until_waiting(within=10)
        assert await queued(runtime) == ["x"]

        place.clock.advance(10)

        assert await task.result() == "at last"


async def test_what_a_recovery_gives_back_counts_in_the_rate(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        await start(runtime, *"abc")
        await gate.until("c")
        place.die()
    gate = Waiting.gate = Gate()

    async with place.runtime(pool={"rate": (1, 10)}) as runtime:
        for name, left in (("a", ["b", "c"]), ("b", ["c"]), ("c", [])):
            await gate.until(name)
            assert await queued(runtime) == left
            if left:
                await place.clock.until_waiting(within=10)
                place.clock.advance(10)
        gate.open(*"abc")


async def test_a_storm_lets_in_one_at_a_time_until_it_is_over(
    place: Place, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    async with place.runtime(pool={"storm": (2, 60), "restart": Restart(0)}) as runtime:
        begun = heard(runtime, "storm_began", "tasks")
        for n in range(3):
            Unsteady.errors = [ValueError("no")]
            failed = await runtime.start(Unsteady(), id=str(n))
            await until(failed, lambda info: info.status is Status.FAILED)
        await begun
        await start(runtime, *"abcd")
        await place.clock.until_waiting(within=30)
        assert await queued(runtime) == ["a", "b", "c", "d"]
        assert pool_of(runtime).info().crashes == 3
        assert pool_of(runtime).info().next_look == 30

        place.clock.advance(30)
        await gate.until("a")
        await place.clock.until_waiting(within=30)
        assert await queued(runtime) == ["b", "c", "d"]
        assert pool_of(runtime).info().storm == 30
        place.clock.advance(30)
        await gate.until("d")

        assert pool_of(runtime).info().storm is None
        (told,) = [one for one in caplog.records if "storm_began" in one.message]
        assert told.levelname == "ERROR"
        assert "one task is let in every 30 s" in told.message
        gate.open(*"abcd")
        assert [await runtime.task(name).result() for name in "abcd"] == list("abcd")


async def test_suspects_wait_for_the_rate_too(place: Place, gate: Gate) -> None:
    for _ in range(2):
        async with place.runtime() as runtime:
            await start(runtime, "a", "b")
            await gate.until("a")
            await gate.until("b")
            place.die()
        gate = Waiting.gate = Gate()

    async with place.runtime(pool={"rate": (1, 10)}) as runtime:
        await gate.until("a")
        gate.open("a", "b")
        await runtime.task("a").result()
        await place.clock.until_waiting(within=10)
        assert await queued(runtime) == ["b"]
        place.clock.advance(10)
        assert await runtime.task("b").result() == "b"


async def test_a_pool_that_is_started_again_goes_on_with_its_counts(place: Place) -> None:
    Unsteady.errors = [ValueError("no")]
    pool = {"rate": (2, 10), "storm": (1, 100), "restart": Restart(0)}
    async with place.runtime(pool=pool) as runtime:
        await until(await runtime.start(Unsteady()), lambda info: info.status is Status.FAILED)
        await until_empty(pool_of(runtime))
        await (await runtime.start(Plain())).result()
        await runtime.tree.terminate_child("tasks")
        await runtime.tree.restart_child("tasks")
        await runtime.start(Plain(), id="late")
        await place.clock.until_waiting(within=10)

        assert await queued(runtime) == ["late"]
        assert (pool_of(runtime).info().starts, pool_of(runtime).info().crashes) == (2, 1)


async def test_a_storm_outlasts_the_pool_and_its_end_is_told_by_the_next_one(place: Place) -> None:
    Unsteady.errors = [ValueError("no"), ValueError("no")]
    pool = {"storm": (1, 10), "restart": Restart(0)}
    async with place.runtime(pool=pool) as runtime:
        ended = heard(runtime, "storm_ended", "tasks")
        for _ in range(2):
            await until(await runtime.start(Unsteady()), lambda info: info.status is Status.FAILED)
            await until_empty(pool_of(runtime))
        await runtime.tree.terminate_child("tasks")
        await runtime.tree.restart_child("tasks")
        assert pool_of(runtime).info().storm == 0
        await place.clock.until_waiting(within=10)
        place.clock.advance(10)

        await ended
        assert pool_of(runtime).info().storm is None
