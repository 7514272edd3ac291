"""Schedules are declared at each start of the process; what cannot be one is refused at once."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from everstep import Actor, BadActor, BadCall, MissingExtra, NotSerializable, handler, step
from tests.runtime.kit import Place, Plain
from tests.schedules.kit import HOUR, MINUTE, ended, set_to


class Clerk(Actor, name="schedules.Clerk"):
    @handler
    async def hear(self) -> None: ...


class Several(Actor, name="schedules.Several"):
    numbers: set[int]

    @step
    async def look(self) -> None: ...


class Odd(Actor, name="schedules.Odd"):
    what: object = None

    @step
    async def look(self) -> None: ...


async def test_the_same_declaration_changes_nothing(place: Place) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain(topic="a"))
        await beat.pause()
        before = await beat.info()
    place.clock.advance(17 * MINUTE)
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain(topic="a"))
        assert await beat.info() == before


async def test_the_log_shows_the_next_instant_as_the_clocks_of_the_schedule_do(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "everstep")
    set_to(place.clock, "2026-02-28T06:30:00")
    async with place.runtime() as runtime:
        await runtime.schedule("a", cron="0 7 * * *", tz="Asia/Shanghai", actor=Plain())
        await runtime.schedule("b", every=HOUR, actor=Plain())
    assert "a is declared; its next instant: 2026-03-01T07:00:00+08:00" in caplog.text
    assert "b is declared; its next instant: 2026-02-28T07:30:00+00:00" in caplog.text


async def test_the_order_in_which_a_set_comes_out_is_no_other_declaration(place: Place) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Several(numbers={0, 8}))
        before = await beat.info()
        place.clock.advance(MINUTE)

        await runtime.schedule("beat", every=HOUR, actor=Several(numbers={8, 0}))
        assert [*{0, 8}] != [*{8, 0}]
        assert await beat.info() == before
        await runtime.schedule("beat", every=HOUR, actor=Several(numbers={8}))
        assert await beat.info() != before


async def test_another_declaration_changes_the_schedule_and_keeps_what_it_has_done(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain(topic="a"))
        place.clock.advance(HOUR)
        before = await ended(runtime, beat, 1)
        place.clock.advance(10 * MINUTE)

        await runtime.schedule("beat", every=HOUR, actor=Plain(topic="b"), priority=3)
        info = await beat.info()
        assert (info.fired, info.next_at, info.priority) == (1, before.next_at, 3)
        place.clock.advance(50 * MINUTE)
        task = runtime.task((await ended(runtime, beat, 2)).fired_task or "")
        assert await task.result() == "b: 2"

        await runtime.schedule("beat", every=2 * HOUR, actor=Plain(topic="b"), priority=3)
        info = await beat.info()
        assert (info.fired, info.every) == (2, timedelta(hours=2))
        assert info.next_at == datetime.fromtimestamp(int(place.clock.now()) + 2 * HOUR, UTC)


async def test_a_changed_schedule_stays_paused(place: Place) -> None:
    async with place.runtime() as runtime:
        beat = await runtime.schedule("beat", every=HOUR, actor=Plain())
        await beat.pause(by="ann")
        await runtime.schedule("beat", every=HOUR, actor=Plain(topic="b"))
        assert (await beat.info()).paused_by == "ann"


async def test_a_declaration_that_is_cancelled_leaves_a_whole_schedule_or_none(
    place: Place,
) -> None:
    left: list[int] = []
    for turns in range(40):
        async with place.runtime() as runtime:
            name = f"s{turns}"
            task = asyncio.create_task(runtime.schedule(name, every=HOUR, actor=Plain()))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        async with place.runtime() as runtime:
            known = [info for info in await runtime.schedules() if info.name == name]
            left.append(len(known))
            if known:
                place.clock.advance(HOUR)
                await ended(runtime, runtime.scheduled(name), 1)
                await runtime.scheduled(name).delete()
    assert left[0] == 0


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "every"),
    ({"cron": "0 7 * * *", "every": 60}, "one of the two"),
    ({"cron": "0 7 * *"}, "five fields"),
    ({"cron": "0 0 7 * * *"}, "five fields"),
    ({"cron": "61 7 * * *"}, "Bad minute"),
    ({"cron": "0 0 31 4 *"}, "Bad day-of-month"),
    ({"cron": 7}, "five fields"),
    ({"cron": "0 7 * * *", "tz": "Mars/Olympus"}, "Asia/Shanghai"),
    ({"cron": "0 7 * * *", "tz": None}, "tzdata"),
    ({"every": 60, "tz": "Asia/Shanghai"}, "leave it out"),
    ({"every": 0}, "whole number"),
    ({"every": 1.5}, "whole number"),
    ({"every": float("nan")}, "whole number"),
    ({"every": True}, "whole number"),
    ({"every": timedelta(milliseconds=1500)}, "whole number"),
    ({"every": 60, "overlap": "both"}, '"replace"'),
    ({"every": 60, "catch_up": -1}, "number of seconds"),
    ({"every": 60, "catch_up": "1h"}, "timedelta"),
    ({"every": 60, "pool": "other"}, "pool"),
    ({"every": 60, "lane": ""}, "lane"),
    ({"every": 60, "priority": "high"}, "priority"),
    ({"every": 60, "actor": Plain}, "instance"),
    ({"every": 60, "name": ""}, "at least one"),
    ({"every": 60, "name": "n" * 151}, "150"),
    ({"every": 60, "name": "a\nb"}, "control"),
]


@pytest.mark.parametrize(("options", "remedy"), BAD, ids=[str(bad[0]) for bad in BAD])
async def test_what_cannot_be_scheduled_is_refused_with_a_remedy(
    options: dict[str, Any], remedy: str
) -> None:
    place = Place(None)
    options = {"actor": Plain(), **options}
    name = options.pop("name", "beat")
    async with place.runtime() as runtime:
        with pytest.raises(BadCall, match=remedy):
            await runtime.schedule(name, **options)
        assert await runtime.schedules() == []
    place.discard()


async def test_an_actor_that_no_task_can_be_made_of_is_refused(place: Place) -> None:
    async with place.runtime() as runtime:
        with pytest.raises(BadActor, match="never ends"):
            await runtime.schedule("beat", every=60, actor=Clerk())
        with pytest.raises(NotSerializable):
            await runtime.schedule("beat", every=60, actor=Odd(what=object()))
        assert await runtime.schedules() == []


async def test_cron_without_its_package_says_what_to_install_and_nothing_else_stops(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    set_to(place.clock, "2026-03-01T06:59:00")
    async with place.runtime() as runtime:
        await runtime.schedule("daily", cron="0 7 * * *", actor=Plain())
        await runtime.schedule("beat", every=MINUTE, actor=Plain())
    monkeypatch.setitem(sys.modules, "cronsim", None)
    async with place.runtime() as runtime:
        with pytest.raises(MissingExtra, match=r'pip install "everstep\[cron\]"'):
            await runtime.schedule("other", cron="0 7 * * *", actor=Plain())
        place.clock.advance(MINUTE)
        await ended(runtime, runtime.scheduled("beat"), 1)
        place.clock.advance(MINUTE)
        await ended(runtime, runtime.scheduled("beat"), 2)
        assert caplog.text.count("the schedule daily does not fire: cron= needs") == 1
        assert (await runtime.scheduled("daily").info()).fired == 0
    monkeypatch.undo()
    async with place.runtime() as runtime:
        await ended(runtime, runtime.scheduled("daily"), 1)
