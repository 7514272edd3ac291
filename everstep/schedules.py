"""What a runtime offers of schedules: how they are declared, found and listed."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from datetime import UTC, datetime, timedelta
from typing import cast, get_args
from zoneinfo import ZoneInfo

from .actors.actor import Actor, is_server
from .actors.errors import BadActor, BadCall
from .actors.newborn import check_actor, template_of
from .actors.schema import Schema
from .checking import limit_of, name_or_none, priority_of, text_of
from .ids import check_name
from .schedule import Schedule, ScheduleInfo, changed, info_of
from .session import Session
from .storage.errors import EverstepError
from .storage.schedules import ScheduleRow
from .supervisor.firings import Overlap, declared
from .supervisor.timetable import Beat, Cron, Timetable, timetable

__all__ = ["Schedules"]

_LOG = logging.getLogger("everstep")
_LONGEST_NAME = 150


class Schedules(ABC):
    """What a runtime offers of schedules. Every method raises RuntimeClosed outside."""

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
        changes nothing, to declare another under its name changes that, from the next instant on
        (with other times, what is due by the old ones and has not fired counts as missed); it stays
        paused where it was, and stays at all until `delete`.

        - `overlap`: while a task of it has not ended, an instant is skipped ("skip"), waits for
          that ("queue", up to 1000 of them), or cancels the task first ("replace").
        - `catch_up`: seconds by which an instant may be late, after a downtime, and still fires; a
          minute always is allowed. Of several "skip" and "replace" start the newest only, "queue"
          starts all, or the newest of more than 1000.
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
        await _declare(session, asked, actor)
        return Schedule(self._open, name)

    def scheduled(self, name: str, /) -> Schedule:
        """The handle of a schedule, which is not looked for until it is used."""
        return Schedule(self._open, _name_of(name))

    async def schedules(self, *, after: str = "", limit: int = 100) -> list[ScheduleInfo]:
        """Schedules by name, at most `limit`. `after` is the last name seen, for the next page."""
        session = self._open()
        session.check()
        last = text_of(
            "after", after, "is no name of a schedule", 'after="", or the last name seen'
        )
        found = await session.store.schedules(after=last, limit=limit_of(limit))
        return [info_of(row) for row in found]

    @abstractmethod
    def _open(self) -> Session:
        """What exists while it is entered. Raises RuntimeClosed."""


async def _declare(session: Session, asked: ScheduleRow, actor: Actor) -> None:
    """Write a schedule unless it is there already."""

    def declaring(known: ScheduleRow | None) -> ScheduleRow:
        if known is None:
            return asked
        same_class = (known.actor, known.version) == (asked.actor, asked.version)
        same = same_class and Schema.of(type(actor)).holds(actor, known.state)
        present = asked._replace(state=known.state) if same else asked
        return declared(known, present, _times_of(known)) or known

    written = await changed(session, asked.name, declaring)
    if written is not None:
        before, after = written
        what = "declared" if before is None else "changed"
        at = None if after is None else after.next_at
        shown = "there is none" if at is None else _shown(at, asked.tz)
        _LOG.info("the schedule %s is %s; its next instant: %s", asked.name, what, shown)


def _times_of(row: ScheduleRow) -> Timetable | None:
    """The instants of a schedule of the store; None where they are not known here."""
    try:
        return timetable(row.cron, row.every, row.tz, row.anchor)
    except EverstepError:
        return None


def _shown(instant: float, tz: str) -> str:
    """An instant for people, as the clocks of its schedule show it."""
    zone = UTC if tz == "UTC" else ZoneInfo(tz)
    return datetime.fromtimestamp(instant, zone).isoformat()


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
