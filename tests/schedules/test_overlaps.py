"""What becomes of an instant while the task of one before it has not ended."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

import pytest

from everstep import Schedule, Status
from tests.runtime.kit import Gate, Place, Waiting
from tests.schedules.kit import DAY, HOUR, MINUTE, ended, fired, ids, set_to, until


async def skipping(schedule: Schedule, times: int) -> None:
    await until(schedule, lambda info: info.skipped == times)


async def queueing(schedule: Schedule, instants: int) -> None:
    await until(schedule, lambda info: len(info.waiting) == instants)


async def test_an_instant_is_skipped_while_the_task_before_has_not_ended(
    place: Place, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "everstep")
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Waiting(name="w"))
        place.clock.advance(HOUR)
        first = (await fired(beat, 1)).fired_task
        for skipped in (1, 2):
            place.clock.advance(HOUR)
            await skipping(beat, skipped)
        gate.open("w")
        await ended(runtime, beat, 1)
        place.clock.advance(HOUR)
        second = (await ended(runtime, beat, 2)).fired_task

        assert await ids(runtime) == [first, second]
        assert "has skipped 1 instant: a task before has not ended" in caplog.text


async def test_a_task_that_is_paused_has_not_ended(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Waiting(name="w"))
        place.clock.advance(HOUR)
        first = runtime.task((await fired(beat, 1)).fired_task or "")
        await gate.until("w")
        await first.cancel()
        place.clock.advance(HOUR)
        assert (await fired(beat, 2)).skipped == 0


async def test_queued_instants_start_one_after_the_other_over_a_restart(
    place: Place, gate: Gate
) -> None:
    set_to(place.clock, "2026-03-01T00:00:00")
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Waiting(name="w"), overlap="queue")
        place.clock.advance(HOUR)
        await fired(beat, 1)
        for waiting in (1, 2):
            place.clock.advance(HOUR)
            await queueing(beat, waiting)
        info = await beat.info()
        assert info.waiting == tuple(datetime(2026, 3, 1, h, tzinfo=UTC) for h in (2, 3))
        await gate.until("w")
        place.die()
    async with place.runtime() as runtime:
        beat = runtime.scheduled("beat")
        assert len((await beat.info()).waiting) == 2
        gate.open("w")
        info = await ended(runtime, beat, 3)

        assert (info.skipped, info.missed, info.waiting) == (0, 0, ())
        assert [name[-9:-4] for name in await ids(runtime)] == ["01:00", "02:00", "03:00"]


async def test_instants_that_wait_are_kept_over_a_pause(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Waiting(name="w"), overlap="queue")
        place.clock.advance(HOUR)
        await fired(beat, 1)
        place.clock.advance(HOUR)
        await queueing(beat, 1)
        await beat.pause()
        gate.open("w")
        await ended(runtime, beat, 1)
        assert len((await beat.info()).waiting) == 1
        await beat.resume()
        await ended(runtime, beat, 2)


async def test_a_task_is_replaced_at_the_next_instant(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule(
            "beat", every=HOUR, actor=Waiting(name="w"), overlap="replace"
        )
        place.clock.advance(HOUR)
        first = runtime.task((await fired(beat, 1)).fired_task or "")
        await gate.until("w")
        place.clock.advance(HOUR)
        second = runtime.task((await fired(beat, 2)).fired_task or "")

        assert (await first.status()).status is Status.CANCELLED
        cancelled = [event async for event in first.events()][-1]
        assert cancelled.data["by"] == "schedule beat"
        assert cancelled.data["why"] == f"replaced by {second.id}"
        gate.open("w")
        assert await second.result() == "w"


@pytest.mark.parametrize("change", ["pause", "delete", "declare"])
async def test_a_task_makes_way_for_one_that_starts_whoever_changes_the_schedule(
    place: Place, gate: Gate, change: str
) -> None:
    actor = Waiting(name="w")
    async with place.runtime() as runtime:
        for turns in range(40):
            beat = await runtime.schedule(
                f"beat-{turns}", every=HOUR, actor=actor, overlap="replace"
            )
            place.clock.advance(HOUR)
            first = runtime.task((await fired(beat, 1)).fired_task or "")
            place.clock.advance(HOUR)
            for _ in range(turns):
                await asyncio.sleep(0)

            if change == "pause":
                await beat.pause()
            elif change == "delete":
                await beat.delete()
            else:
                await runtime.schedule(beat.name, every=DAY, actor=actor, overlap="replace")

            replaced = (await first.status()).status is Status.CANCELLED
            started = [one for one in await ids(runtime) if one.startswith(f"{beat.name}/")]
            assert len(started) == 1 + replaced
            if change != "delete":
                assert (await beat.info()).missed == (change == "declare" and not replaced)
                await beat.delete()


async def test_who_leaves_while_a_task_is_replaced_lets_no_change_through(
    place: Place, gate: Gate
) -> None:
    for turns in range(10, 14):
        for further in range(8, 12):
            name = f"beat-{turns}-{further}"
            pausing: asyncio.Task[bool] | None = None
            async with place.runtime() as runtime:
                beat = await runtime.schedule(
                    name, every=HOUR, actor=Waiting(name=name), overlap="replace"
                )
                place.clock.advance(HOUR)
                first = runtime.task((await fired(beat, 1)).fired_task or "")
                place.clock.advance(HOUR)
                for turn in range(turns + further):
                    if turn == turns:
                        pausing = asyncio.create_task(beat.pause())
                    await asyncio.sleep(0)
            if pausing is not None:
                await asyncio.wait([pausing])
            async with place.runtime() as runtime:
                beat = runtime.scheduled(name)
                paused = (await beat.info()).paused
                replaced = (await runtime.task(first.id).status()).status is Status.CANCELLED
                started = [one for one in await ids(runtime) if one.startswith(f"{name}/")]
                assert not (paused and replaced) or len(started) == 2
                await beat.delete()


async def test_a_task_out_of_memory_is_replaced_too(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule(
            "beat", every=HOUR, actor=Waiting(name="w"), overlap="replace"
        )
        place.clock.advance(HOUR)
        first = (await fired(beat, 1)).fired_task or ""
        place.die()
    place.clock.advance(HOUR + MINUTE)
    async with place.runtime(pool={"max_running": 1}) as runtime:
        beat = runtime.scheduled("beat")
        await fired(beat, 2)
        assert (await runtime.task(first).status()).status is Status.CANCELLED
        gate.open("w")
        await ended(runtime, beat, 2)


async def test_a_schedule_that_queues_no_more_skips_what_waits(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Waiting(name="w"), overlap="queue")
        place.clock.advance(HOUR)
        await fired(beat, 1)
        place.clock.advance(HOUR)
        await queueing(beat, 1)
        await runtime.schedule("beat", every=HOUR, actor=Waiting(name="w"), overlap="skip")
        info = await beat.info()
        assert (info.waiting, info.skipped) == ((), 1)
        gate.open("w")
        await ended(runtime, beat, 1)
