"""A schedule starts one task at each of its instants."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from everstep import Actor, RuntimeClosed, ScheduleNotFound, Status, TaskNotFound, step
from tests.runtime.kit import Gate, Place, Plain, Waiting, kinds
from tests.schedules.kit import DAY, HOUR, MINUTE, ended, fired, ids, set_to, until


class Dated(Actor, name="schedules.Dated"):
    """Knows from its id for which instant it was started."""

    @step
    async def say(self) -> str:
        return self.ctx.task_id.rpartition("/")[2]


async def test_each_instant_starts_one_task_named_for_it(place: Place) -> None:
    set_to(place.clock, "2026-11-29T22:59:00")
    async with place.runtime() as runtime:
        daily = await runtime.schedule(
            "daily", cron="0 7 * * *", tz="Asia/Shanghai", actor=Dated(), lane="reports"
        )
        for times in (1, 2):
            place.clock.advance(DAY if times > 1 else MINUTE)
            await ended(runtime, daily, times)

        names = ["daily/2026-11-29T23:00:00Z", "daily/2026-11-30T23:00:00Z"]
        assert await ids(runtime) == names
        assert await runtime.task(names[0]).result() == "2026-11-29T23:00:00Z"
        assert (await runtime.task(names[1]).status()).lane == "reports"
        info = await daily.info()
        assert info.fired_task == names[1]
        assert info.next_at == datetime(2026, 12, 1, 23, tzinfo=UTC)


async def test_the_log_of_a_task_tells_which_schedule_has_started_it(place: Place) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=90, actor=Plain())
        place.clock.advance(90)
        info = await fired(beat, 1)
        assert info.fired_task is not None
        events = [event async for event in runtime.task(info.fired_task).events()]

    assert events[0].kind == "task_started"
    assert events[0].data == {"actor": "runtime.Plain", "schedule": "beat"}


async def test_a_beat_comes_every_so_often_from_its_declaration_on(place: Place) -> None:
    set_to(place.clock, "2026-03-01T10:00:00")
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=timedelta(minutes=20), actor=Plain())
        for times in (1, 2, 3):
            place.clock.advance(20 * MINUTE)
            await ended(runtime, beat, times)

        hours = [name.rpartition("T")[2] for name in await ids(runtime)]
    assert hours == ["10:20:00Z", "10:40:00Z", "11:00:00Z"]


async def test_a_schedule_outlasts_the_process(place: Place) -> None:
    async with place.runtime() as runtime:
        await runtime.schedule("beat", every=HOUR, actor=Plain(topic="kept"))
        place.die()
    async with place.runtime() as runtime:
        place.clock.advance(HOUR)
        info = await fired(runtime.scheduled("beat"), 1)
        assert info.fired_task is not None
        assert await runtime.task(info.fired_task).result() == "kept: 2"


async def test_a_task_whose_class_is_unknown_is_started_and_waits_for_it(place: Place) -> None:
    async with place.runtime() as runtime:
        await runtime.schedule("beat", every=HOUR, actor=Plain())
    async with place.runtime(actors=[Waiting]) as runtime:
        place.clock.advance(HOUR)
        info = await fired(runtime.scheduled("beat"), 1)
        assert info.fired_task is not None
        status = await runtime.task(info.fired_task).status()
        assert (status.status, status.unknown_here) == (Status.QUEUED, True)
    async with place.runtime() as runtime:
        assert await runtime.task(info.fired_task).result() == "refunds: 2"


async def test_a_paused_schedule_fires_nothing_and_goes_on_with_the_next_instant(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        other = await runtime.schedule("other", every=HOUR, actor=Plain())
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain())
        assert await beat.pause(by="ann", why="the mail server is down")
        assert not await beat.pause(by="bob")
    async with place.runtime() as runtime:
        other, beat = runtime.scheduled("other"), runtime.scheduled("beat")
        place.clock.advance(3 * HOUR + MINUTE)
        await fired(other, 1)
        info = await beat.info()
        assert (info.paused_by, info.paused_why) == ("ann", "the mail server is down")
        assert (info.fired, info.skipped, info.missed) == (0, 0, 0)

        assert await beat.resume()
        assert not await beat.resume()
        info = await beat.info()
        assert (info.paused, info.paused_by) == (False, None)
        assert info.next_at == datetime.fromtimestamp(place.clock.now() + 59 * MINUTE, UTC).replace(
            microsecond=0
        )
        place.clock.advance(59 * MINUTE)
        assert (await fired(beat, 1)).missed == 0


async def test_an_instant_is_fired_at_once_though_a_task_is_started_by_hand_in_that_moment(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain(), overlap="replace")
        for times in range(1, 11):
            by_hand = asyncio.gather(*[beat.trigger() for _ in range(8)])
            place.clock.advance(HOUR)
            await by_hand
            await fired(beat, times)

        info = await beat.info()
        assert (info.fired, info.missed) == (10, 0)


async def test_any_number_of_tasks_may_be_started_by_hand_at_once(place: Place) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain())

        tasks = await asyncio.gather(*(beat.trigger() for _ in range(50)))

        assert len({task.id for task in tasks}) == 50
        assert {task.id for task in tasks} == set(await ids(runtime))


async def test_a_change_from_another_loop_is_refused_and_breaks_nothing(place: Place) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain())
        starting = asyncio.gather(*(beat.trigger() for _ in range(10)))
        await asyncio.sleep(0)

        with pytest.raises(RuntimeClosed):
            await asyncio.to_thread(asyncio.run, beat.pause())

        await starting
        assert await beat.pause()


async def test_a_task_started_by_hand_is_started_once_for_an_id(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Waiting(name="w"))
        await beat.pause()
        task = await beat.trigger(id="ticket-7")
        again = await beat.trigger(id="ticket-7")
        gate.open("w")

        assert task.id == again.id == "beat/manual/ticket-7"
        assert await task.result() == "w"
        assert await ids(runtime) == [task.id]
        other = await beat.trigger()
        assert other.id != task.id
        assert await other.result() == "w"


async def test_a_start_by_hand_that_is_cancelled_is_made_once_by_its_repeat(place: Place) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain())
        for turns in range(30):
            call = asyncio.create_task(beat.trigger(id=f"{turns}"))
            for _ in range(turns):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
            assert await (await beat.trigger(id=f"{turns}")).result() == "refunds: 2"
        assert len(await ids(runtime)) == 30


async def test_the_next_instant_minds_a_task_started_by_hand(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Waiting(name="w"))
        await beat.trigger(id="slow")
        place.clock.advance(HOUR)
        await until(beat, lambda info: info.skipped == 1)
        assert await ids(runtime) == ["beat/manual/slow"]
        gate.open("w")
        await runtime.task("beat/manual/slow").result()
        place.clock.advance(HOUR)
        await fired(beat, 1)


async def test_a_deleted_schedule_fires_no_more_and_leaves_its_tasks(place: Place) -> None:
    async with place.runtime() as runtime:
        other = await runtime.schedule("other", every=HOUR, actor=Plain())
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain())
        place.clock.advance(HOUR)
        await ended(runtime, beat, 1)
        await ended(runtime, other, 1)
        await beat.delete()
        place.clock.advance(HOUR)
        await fired(other, 2)

        assert sum(name.startswith("beat/") for name in await ids(runtime)) == 1
        for call in (beat.info(), beat.pause(), beat.resume(), beat.trigger(), beat.delete()):
            with pytest.raises(ScheduleNotFound, match="'beat'"):
                await call


async def test_an_instant_whose_task_exists_is_not_fired_again(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain())
        place.clock.advance(HOUR)
        first = (await fired(beat, 1)).fired_task
        await beat.delete()
        place.clock.jump(-HOUR)
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain())
        place.clock.advance(HOUR)
        info = await until(beat, lambda info: info.fired_task is not None)

        assert info.fired_task == first
        assert await ids(runtime) == [first]
        assert "its task" in caplog.text


async def test_schedules_are_listed_by_name_in_pages(place: Place) -> None:
    async with place.runtime() as runtime:
        for name in ("c", "a", "b"):
            await runtime.schedule(name, every=HOUR, actor=Plain())

        first = await runtime.schedules(limit=2)
        rest = await runtime.schedules(after=first[-1].name)
    assert [info.name for info in first + rest] == ["a", "b", "c"]


async def test_many_schedules_that_are_due_together_all_fire(place: Place) -> None:
    async with place.runtime() as runtime:
        made = [
            await runtime.schedule(f"s{number:03}", every=HOUR, actor=Plain())
            for number in range(150)
        ]
        place.clock.advance(HOUR)
        for one in made:
            await fired(one, 1)
        assert len(await ids(runtime)) == 150


async def test_a_schedule_that_is_stopped_with_the_runtime_leaves_nothing_running(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        await runtime.schedule("beat", every=HOUR, actor=Plain())
        place.clock.advance(HOUR)
    assert "everstep schedules" not in {task.get_name() for task in asyncio.all_tasks()}
    async with place.runtime() as runtime:
        info = await fired(runtime.scheduled("beat"), 1)
        assert info.fired_task is not None
        assert await kinds(runtime.task(info.fired_task)) != []
        with pytest.raises(TaskNotFound):
            await runtime.task("beat/2000-01-01T00:00:00Z").status()
