"""Downtimes, and clocks that jump: no instant is lost without being counted, none fires twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from everstep import Runtime, Schedule
from tests.runtime.kit import Place, Plain
from tests.schedules.kit import DAY, HOUR, MINUTE, WEEK, ended, ids, set_to, until

SATURDAY = "2026-02-28T06:30:00"


async def down_for_a_week(place: Place, **options: Any) -> None:
    """Declare a schedule of each day at seven, and be down from before one until after another."""
    set_to(place.clock, SATURDAY)
    async with place.runtime() as runtime:
        await runtime.schedule("daily", cron="0 7 * * *", actor=Plain(), **options)
        place.die()
    place.clock.advance(WEEK + 31 * MINUTE)


async def started(runtime: Runtime) -> list[str]:
    return [name.partition("/")[2][:10] for name in await ids(runtime)]


async def test_after_a_week_only_the_newest_instant_is_caught_up(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    await down_for_a_week(place)
    async with place.runtime() as runtime:
        info = await ended(runtime, runtime.scheduled("daily"), 1)
        assert (info.missed, info.skipped) == (7, 0)
        assert await started(runtime) == ["2026-03-07"]
        assert "has missed 7 instants older than catch_up=600 s" in caplog.text
        assert "queue" not in caplog.text


async def test_instants_that_are_passed_over_for_the_newest_are_not_called_too_old(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    await down_for_a_week(place, catch_up=timedelta(days=7))
    async with place.runtime() as runtime:
        info = await ended(runtime, runtime.scheduled("daily"), 1)
        assert (info.missed, info.skipped) == (7, 0)
        assert "has missed 1 instant older than catch_up" in caplog.text
        assert "has missed 6 instants: overlap='skip' starts the newest" in caplog.text
        assert 'write overlap="queue"' in caplog.text


async def test_an_instant_that_is_too_long_ago_is_missed_and_counted(place: Place) -> None:
    await down_for_a_week(place)
    place.clock.advance(10 * MINUTE)
    async with place.runtime() as runtime:
        daily = runtime.scheduled("daily")
        info = await until(daily, lambda info: info.missed > 0)
        assert (info.fired, info.missed) == (0, 8)
        assert info.next_at == datetime(2026, 3, 8, 7, tzinfo=UTC)
        place.clock.advance(DAY - 11 * MINUTE)
        await ended(runtime, daily, 1)


async def test_a_week_is_caught_up_in_order_where_instants_queue(place: Place) -> None:
    await down_for_a_week(place, overlap="queue", catch_up=timedelta(days=7))
    async with place.runtime() as runtime:
        info = await ended(runtime, runtime.scheduled("daily"), 7)
        assert (info.missed, info.skipped) == (1, 0)
        assert await started(runtime) == [f"2026-03-0{day}" for day in range(1, 8)]


async def test_a_week_of_seconds_is_bounded(place: Place) -> None:
    async with place.runtime() as runtime:
        await runtime.schedule("tick", every=1, actor=Plain(), overlap="queue", catch_up=WEEK)
        place.die()
    place.clock.advance(WEEK)
    async with place.runtime(pool={"max_running": 1}) as runtime:
        tick = runtime.scheduled("tick")
        info = await until(tick, lambda info: info.fired > 0)
        assert len(info.waiting) + info.fired == 1001
        await tick.delete()


async def test_an_instant_is_on_time_for_a_minute_whatever_is_caught_up(place: Place) -> None:
    set_to(place.clock, "2026-02-28T06:59:00")
    async with place.runtime() as runtime:
        daily = await runtime.schedule("daily", cron="0 7 * * *", actor=Plain(), catch_up=0)
    place.clock.advance(MINUTE + 59)
    async with place.runtime() as runtime:
        assert (await ended(runtime, runtime.scheduled("daily"), 1)).missed == 0
        daily = runtime.scheduled("daily")
    place.clock.advance(DAY + MINUTE)
    async with place.runtime() as runtime:
        daily = runtime.scheduled("daily")
        assert (await until(daily, lambda info: info.missed > 0)).fired == 1


async def beating(runtime: Runtime, every: int) -> Schedule:
    return await runtime.schedule("beat", every=every, actor=Plain())


async def test_a_clock_that_is_set_forward_is_noticed(place: Place) -> None:
    async with place.runtime() as runtime:
        beat = await beating(runtime, HOUR)
        place.clock.jump(HOUR)
        place.clock.advance(30)
        await ended(runtime, beat, 1)


async def test_a_clock_that_is_set_back_makes_nothing_fire_twice(place: Place) -> None:
    set_to(place.clock, "2026-03-01T00:00:00")
    async with place.runtime() as runtime:
        beat = await beating(runtime, HOUR)
        other = await runtime.schedule("other", every=7 * HOUR, actor=Plain())
        place.clock.advance(HOUR)
        before = await ended(runtime, beat, 1)
        place.clock.jump(-HOUR)
        place.clock.advance(HOUR)
        assert (await beat.info()) == before
        place.clock.advance(HOUR)
        await ended(runtime, beat, 2)
        place.clock.advance(5 * HOUR)
        await ended(runtime, other, 1)

        names = await ids(runtime)
        assert len(names) == len(set(names))
        assert names[:2] == ["beat/2026-03-01T01:00:00Z", "beat/2026-03-01T02:00:00Z"]


async def test_a_schedule_that_a_wrong_clock_sent_far_ahead_is_brought_back_by_a_pause(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        beat = await beating(runtime, HOUR)
        place.clock.jump(10 * 365 * DAY)
        place.clock.advance(30)
        await ended(runtime, beat, 1)
        place.clock.jump(-10 * 365 * DAY)
        await beat.pause()
        await beat.resume()
        place.clock.advance(HOUR)
        await ended(runtime, beat, 2)
