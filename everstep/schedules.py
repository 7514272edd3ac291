"""`Schedule`: the handle of a durable schedule; and what a runtime offers of them."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast, get_args

from .actors.actor import Actor, is_server
from .actors.errors import BadActor, BadCall
from .actors.newborn import check_actor, template_of
from .checking import name_or_none, priority_of, said_of
from .errors import ScheduleNotFound
from .ids import check_name, new_id
from .scheduling import change, planned
from .session import Session
from .storage.errors import Superseded
from .storage.interface import Refusal
from .storage.schedules import ScheduleRow
from .supervisor.firings import (
    Overlap,
    declared,
    instants_of,
    keys_of,
    paused,
    resumed,
    without_ended,
)
from .supervisor.timetable import Beat, Cron, timetable
from .task import Task

__all__ = ["Schedule", "ScheduleInfo", "Schedules"]

_LOG = logging.getLogger("everstep")
_LONGEST_NAME = 150
_TRIES = 20
"""How often a schedule may change between reading it and writing to it."""


@dataclass(frozen=True, slots=True)
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
    """Instants that passed while a task before had not ended."""
    missed: int
    """Instants at which nobody was there, and that were not caught up."""
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
        return _info(await self._row())

    async def pause(self, *, by: str | None = None, why: str | None = None) -> bool:
        """Fire no more until `resume`; tasks that were started go on. False where it is paused.

        What falls into the pause is not caught up, and counts nowhere.
        """
        by, why = said_of("by", by), said_of("why", why)

        def pausing(row: ScheduleRow) -> ScheduleRow | None:
            return None if row.paused else paused(row, self._session().clock.now(), by, why)

        return await self._changed(pausing)

    async def resume(self) -> bool:
        """Fire again, from the first instant after now. False where it was not paused."""

        def resuming(row: ScheduleRow) -> ScheduleRow | None:
            table = timetable(row.cron, row.every, row.tz, row.anchor)
            return resumed(row, table, self._session().clock.now()) if row.paused else None

        return await self._changed(resuming)

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
        for tries in range(_TRIES, 0, -1):
            row = await self._row()
            if await session.store.task(task_id) is not None:
                break
            unended = await session.store.unended(keys_of(row))
            after = without_ended(row, unended)
            try:
                await planned(session, row, after, task_id, None).durable()
            except Superseded:
                if tries == 1:
                    raise
            else:
                break
        return Task(self._session, task_id)

    async def delete(self) -> None:
        """Forget it; tasks that were started go on, instants that wait are dropped."""
        for tries in range(_TRIES, 0, -1):
            row = await self._row()
            refusal = await asyncio.shield(change(self._session(), row, None))
            if refusal is None:
                return
            _check(refusal, tries)

    async def _row(self) -> ScheduleRow:
        session = self._session()
        session.check()
        row = await session.store.schedule(self.name)
        if row is None:
            raise ScheduleNotFound(self.name)
        return row

    async def _changed(self, decide: Callable[[ScheduleRow], ScheduleRow | None]) -> bool:
        """Write what is decided about the present row; False where that is nothing."""
        for tries in range(_TRIES, 0, -1):
            row = await self._row()
            after = decide(row)
            if after is None:
                return False
            refusal = await asyncio.shield(change(self._session(), row, after))
            if refusal is None:
                return True
            _check(refusal, tries)
        return False


class Schedules(ABC):
    """What a runtime offers of schedules."""

    async def schedule(
        self,
        name: str,
        *,
        actor: Actor,
        cron: str | None = None,
        every: float | timedelta | None = None,
        tz: str = "UTC",
        overlap: Overlap = "skip",
        catch_up: float | timedelta = 600,
        pool: str | None = None,
        priority: int = 0,
        lane: str | None = None,
    ) -> Schedule:
        """Make a schedule durable: at each of its instants a task like `actor` is started, once.

        The instants are those of `cron` (five fields, in the time zone `tz`; needs the extra
        `everstep[cron]`), or come `every` so many seconds from now on. The id of a task is
        `name/2026-11-30T07:00:00Z`, of the name and the instant in UTC. To declare the same again
        changes nothing, to declare another under its name changes that, from the next instant on;
        it stays paused where it was, and stays at all until `delete`.

        - `overlap`: while a task of it has not ended, an instant is skipped ("skip"), waits for
          that ("queue", up to 1000 of them), or cancels the task first ("replace").
        - `catch_up`: seconds by which an instant may be late, after a downtime, and still fires; a
          minute always is allowed. Of several "skip" and "replace" start the newest only, "queue"
          starts all.
        - `pool`, `priority`, `lane`: as in `start`.

        When this returns, it is in the store. Cancelled, it is there whole or not at all.

        Raises:
            BadCall, BadActor: this cannot be scheduled; nothing was written.
            MissingExtra: `cron` needs a package that is not installed.
            NotSerializable, PayloadTooLarge: a field cannot be stored; nothing was written.
        """
        session = self._open()
        session.check()
        asked = _asked(
            session,
            _name_of(name),
            _schedulable(actor),
            cron=cron,
            every=every,
            tz=tz,
            overlap=_overlap_of(overlap),
            catch_up=_span_of(catch_up),
            pool=session.pool_name(pool),
            priority=priority_of(priority),
            lane=name_or_none("lane", lane),
        )
        session.catalogue.tell(type(actor))
        await _declare(session, asked)
        return Schedule(self._open, name)

    def scheduled(self, name: str, /) -> Schedule:
        """The handle of a schedule, which is not looked for until it is used."""
        return Schedule(self._open, _name_of(name))

    async def schedules(self, *, after: str = "", limit: int = 100) -> list[ScheduleInfo]:
        """Schedules by name, at most `limit`. `after` is the last name seen, for the next page."""
        session = self._open()
        session.check()
        return [_info(row) for row in await session.store.schedules(after=after, limit=limit)]

    @abstractmethod
    def _open(self) -> Session: ...


async def _declare(session: Session, asked: ScheduleRow) -> None:
    """Write a schedule unless it is there already."""
    for tries in range(_TRIES, 0, -1):
        known = await session.store.schedule(asked.name)
        row = asked if known is None else declared(known, asked)
        if row is None:
            return
        refusal = await asyncio.shield(change(session, known, row))
        if refusal is None:
            what = "declared" if known is None else "changed"
            _LOG.info("the schedule %s is %s: its next instant is %s", row.name, what, row.next_at)
            return
        _check(refusal, tries)


def _check(refusal: Refusal, tries: int) -> None:
    """Raise a refusal, unless the schedule has only changed meanwhile and may be read again."""
    if not isinstance(refusal, Superseded) or tries == 1:
        raise refusal


def _asked(
    session: Session,
    name: str,
    actor: Actor,
    *,
    cron: str | None,
    every: float | timedelta | None,
    tz: str,
    overlap: Overlap,
    catch_up: float,
    pool: str,
    priority: int,
    lane: str | None,
) -> ScheduleRow:
    """The row of a schedule that is declared now. Raises BadCall, MissingExtra."""
    now = session.clock.now()
    anchor = float(int(now))
    table = timetable(cron, every, tz, anchor)
    template = template_of(actor, session.environment.limits)
    return ScheduleRow(
        name=name,
        revision=0,
        cron=table.expression if isinstance(table, Cron) else None,
        every=table.every if isinstance(table, Beat) else None,
        tz=tz,
        anchor=anchor,
        overlap=overlap,
        catch_up=catch_up,
        actor=template.actor,
        given=template.given,
        version=template.version,
        state=template.state,
        appends=template.appends,
        pool=pool,
        priority=priority,
        lane=lane,
        paused=0,
        paused_by=None,
        paused_why=None,
        next_at=next(table.instants(now), None),
        fired_at=None,
        fired_task=None,
        waiting=None,
        started="[]",
        fired=0,
        skipped=0,
        missed=0,
        created_at=now,
        updated_at=now,
    )


def _info(row: ScheduleRow) -> ScheduleInfo:
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
        next_at=_maybe(row.next_at),
        fired_at=_maybe(row.fired_at),
        fired_task=row.fired_task,
        waiting=tuple(_instant(at) for at in instants_of(row)),
        fired=row.fired,
        skipped=row.skipped,
        missed=row.missed,
        created_at=_instant(row.created_at),
        updated_at=_instant(row.updated_at),
    )


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _maybe(seconds: float | None) -> datetime | None:
    return None if seconds is None else _instant(seconds)


def _name_of(name: object) -> str:
    checked = check_name("name", name)
    if len(checked) > _LONGEST_NAME:
        why = f"has more than {_LONGEST_NAME} characters, and its tasks have longer ids"
        raise BadCall("name", name, why, 'name="report"')
    return checked


def _schedulable(actor: object) -> Actor:
    checked = check_actor(actor)
    if is_server(type(checked)):
        why = "it has handlers, and a task of it never ends"
        raise BadActor(f"the actor {type(checked).__name__}", why, "an actor with a run or steps")
    return checked


def _overlap_of(overlap: object) -> Overlap:
    for known in get_args(Overlap):
        if overlap == known:
            return cast("Overlap", known)
    raise BadCall("overlap", overlap, "is unknown", 'overlap="skip", "queue" or "replace"')


def _span_of(catch_up: object) -> float:
    seconds = catch_up.total_seconds() if isinstance(catch_up, timedelta) else catch_up
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 1e9:
        why = "is not a number of seconds"
        raise BadCall("catch_up", catch_up, why, "catch_up=600, or catch_up=timedelta(days=7)")
    return float(seconds)
