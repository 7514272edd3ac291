"""Helpers for the tests of schedules."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from everstep import Runtime, Schedule, ScheduleInfo
from everstep.testing import ManualClock

MINUTE, HOUR, DAY, WEEK = 60, 3600, 86_400, 604_800


def at(text: str) -> float:
    """The instant that is meant, in UTC seconds."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def set_to(clock: ManualClock, text: str) -> None:
    """Set the wall clock, before anybody looks at it."""
    clock.jump(at(text) - clock.now())


async def until(schedule: Schedule, fits: Callable[[ScheduleInfo], bool]) -> ScheduleInfo:
    """How the schedule stands as soon as that fits."""
    while not fits(info := await schedule.info()):
        pass
    return info


async def fired(schedule: Schedule, times: int) -> ScheduleInfo:
    """How the schedule stands when it has started so many tasks."""
    return await until(schedule, lambda info: info.fired == times)


async def ended(runtime: Runtime, schedule: Schedule, times: int) -> ScheduleInfo:
    """The same, when the newest of the tasks has ended too."""
    info = await fired(schedule, times)
    assert info.fired_task is not None
    await runtime.task(info.fired_task).result()
    return info


async def ids(runtime: Runtime) -> list[str]:
    """The ids of all tasks, in the order in which they were started."""
    return [info.id for info in await runtime.tasks(limit=10_000)]
