"""`Schedule`: the handle of a durable schedule. It owns nothing: dropping it changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, cast

from .checking import said_of
from .errors import ScheduleNotFound
from .ids import check_name, new_id
from .reading import in_utc, in_utc_or_none
from .scheduler import change, planned
from .session import Session
from .storage.errors import Superseded
from .storage.record import record
from .storage.schedules import ScheduleRow
from .supervisor.firings import Overlap, instants_of, keys_of, paused, resumed, without_ended
from .supervisor.timetable import timetable
from .task import Task

__all__ = ["Schedule", "ScheduleInfo", "changed", "info_of"]

_TRIES = 20
"""How often a schedule may change between reading it and writing to it."""


@record
class ScheduleInfo:
    """Where a schedule is. All instants are aware, in UTC."""

    name: str
    actor: str
    cron: str | None
    every: timedelta | None
    tz: str
    overlap: Overlap
    catch_up: timedelta
    pool: str
    priority: int
    lane: str | None
    paused: bool
    paused_by: str | None
    paused_why: str | None
    next_at: datetime | None
    """Its next instant, at which it fires unless it is paused; None where there is no other."""
    fired_at: datetime | None
    """The newest instant for which a task was started."""
    fired_task: str | None
    """The id of that task."""
    waiting: tuple[datetime, ...]
    """Instants whose tasks start when those before have ended."""
    fired: int
    """Instants for which a task was started."""
    skipped: int
    """Instants that passed while a task before had not ended, or while too many waited."""
    missed: int
    """Instants at which nobody was there, and that were not caught up. Of a `cron` expression at
    most twenty thousand are counted of one downtime."""
    created_at: datetime
    updated_at: datetime


class Schedule:
    """A durable schedule, known by its name. Dropping the handle changes nothing.

    Every method raises ScheduleNotFound where there is no such schedule, and RuntimeClosed outside
    the runtime's `async with`. Each change is one commit: cancelled, it is made whole, or not.
    """

    __slots__ = ("_session", "name")

    def __init__(self, session: Callable[[], Session], name: str) -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"<Schedule {self.name}>"

    async def info(self) -> ScheduleInfo:
        """Where it is."""
        return info_of(await self._row())

    async def pause(self, *, by: str | None = None, why: str | None = None) -> bool:
        """Fire no more until `resume`; tasks that were started go on. False where it is paused.

        What falls into the pause is not caught up, and counts nowhere; so does an instant that is
        due and has not fired yet.
        """
        by, why = said_of("by", by), said_of("why", why)
        session = self._session()

        def pausing(found: ScheduleRow | None) -> ScheduleRow:
            row = self._there(found)
            return row if row.paused else paused(row, session.clock.now(), by, why)

        return await changed(session, self.name, pausing) is not None

    async def resume(self) -> bool:
        """Fire again, from the first instant after now. False where it was not paused."""
        session = self._session()

        def resuming(found: ScheduleRow | None) -> ScheduleRow:
            row = self._there(found)
            table = timetable(row.cron, row.every, row.tz, row.anchor)
            return resumed(row, table, session.clock.now()) if row.paused else row

        return await changed(session, self.name, resuming) is not None

    async def trigger(
        self,
        *,
        id: str | None = None,  # noqa: A002  the word of `start`
    ) -> Task[Any]:
        """Start a task of it now, whether it is paused and whatever has not ended.

        A repeat with the same `id` starts nothing and returns the same task. Its next instants mind
        the task like any other of the schedule. Cancelled, the task may be started.
        """
        session = self._session()
        session.check()
        given = new_id(session.clock.now()) if id is None else check_name("id", id)
        task_id = check_name("id", f"{self.name}/manual/{given}")
        async with session.scheduler.turn(self.name):
            for tries in range(_TRIES, 0, -1):
                try:
                    await self._started(session, task_id)
                    break
                except Superseded:
                    if tries == 1:
                        raise
        return Task(self._session, task_id)

    async def _started(self, session: Session, task_id: str) -> None:
        """Start a task of this id unless there is one. Raises Superseded."""
        row = self._there(await session.scheduler.row(self.name))
        if await session.store.task(task_id) is None:
            unended = await session.store.unended(keys_of(row))
            after = without_ended(row, unended)
            await planned(session, row, after, task_id, None).durable()

    async def delete(self) -> None:
        """Forget it; tasks that were started go on, instants that wait are dropped."""

        def deleting(found: ScheduleRow | None) -> None:
            self._there(found)

        await changed(self._session(), self.name, deleting)

    async def _row(self) -> ScheduleRow:
        session = self._session()
        session.check()
        return self._there(await session.store.schedule(self.name))

    def _there(self, row: ScheduleRow | None) -> ScheduleRow:
        if row is None:
            raise ScheduleNotFound(self.name)
        return row


async def changed(
    session: Session, name: str, decide: Callable[[ScheduleRow | None], ScheduleRow | None]
) -> tuple[ScheduleRow | None, ScheduleRow | None] | None:
    """Write what is decided about the present row; the rows before and after, None for no change.

    The row of a schedule that is not there is None. It is decided anew where the schedule has
    changed meanwhile. Cancelled, the change may be written.
    """
    tries = _TRIES
    session.check()  # ahead of the turn, which belongs to one loop
    async with session.scheduler.turn(name):
        while True:
            session.check()
            row = await session.scheduler.row(name)
            after = decide(row)
            if after is row:
                return None
            refusal = await asyncio.shield(change(session, row, after))
            if refusal is None:
                return row, after
            tries -= 1
            if not isinstance(refusal, Superseded) or not tries:
                raise refusal


def info_of(row: ScheduleRow) -> ScheduleInfo:
    """The present state of a schedule's row."""
    return ScheduleInfo(
        name=row.name,
        actor=row.actor,
        cron=row.cron,
        every=None if row.every is None else timedelta(seconds=row.every),
        tz=row.tz,
        overlap=cast("Overlap", row.overlap),
        catch_up=timedelta(seconds=row.catch_up),
        pool=row.pool,
        priority=row.priority,
        lane=row.lane,
        paused=bool(row.paused),
        paused_by=row.paused_by,
        paused_why=row.paused_why,
        next_at=in_utc_or_none(row.next_at),
        fired_at=in_utc_or_none(row.fired_at),
        fired_task=row.fired_task,
        waiting=tuple(in_utc(at) for at in instants_of(row)),
        fired=row.fired,
        skipped=row.skipped,
        missed=row.missed,
        created_at=in_utc(row.created_at),
        updated_at=in_utc(row.updated_at),
    )
