"""What follows for a schedule from the time that it is, as plain functions of its row.

Nothing here writes, waits or reads a clock. Whoever fires writes the row that is answered, in the
commit that creates the task.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from ..storage.schedules import ScheduleRow
from .timetable import Timetable, newest

__all__ = [
    "MOST_WAITING",
    "ON_TIME",
    "Firing",
    "Overlap",
    "declared",
    "fire",
    "instant_id",
    "instants_of",
    "keys_of",
    "paused",
    "resumed",
    "started",
    "without_ended",
]

Overlap = Literal["skip", "queue", "replace"]
"""What becomes of an instant while a task of the same schedule has not ended."""

ON_TIME = 60.0
"""Seconds by which an instant may be late and is still on time, whatever may be caught up."""
MOST_WAITING = 1000
"""So many instants of a schedule wait for the tasks before them; those beyond are skipped."""

_TIMES = ("cron", "every", "tz")
_DECLARED = (
    *_TIMES,
    "overlap",
    "catch_up",
    "actor",
    "given",
    "version",
    "state",
    "appends",
    "pool",
    "priority",
    "lane",
)


class Firing(NamedTuple):
    """What a look at a schedule leads to."""

    row: ScheduleRow
    """Its next row, without the task that is started."""
    instant: float | None
    """That of the task to be started; None where none is."""
    replaces: bool
    """The tasks before it are cancelled first."""
    too_old: int
    """So many instants were older than what is caught up."""
    passed_over: int
    """So many were not, and are missed since only the newest of several is fired."""


class _Passed(NamedTuple):
    """The instants since the last look."""

    fresh: list[float]
    """Those to be decided about, in order: the newest of those that may be caught up."""
    too_old: int
    others: int
    """So many may be caught up as well, and were before those."""
    next_at: float | None


def fire(row: ScheduleRow, table: Timetable, now: float, unended: Collection[int]) -> Firing | None:
    """What to do at this moment, where tasks of these keys have not ended; None for nothing."""
    queues, may_start = row.overlap == "queue", row.overlap == "replace" or not unended
    waiting = instants_of(row)
    passed = _passed(row, table, now, MOST_WAITING + may_start - len(waiting) if queues else 1)
    waiting += passed.fresh
    starts = bool(waiting) and may_start
    if passed.next_at == row.next_at and not starts:
        return None
    instant = waiting.pop(0) if starts else None
    passed_over = 0 if queues else passed.others
    after = row._replace(
        next_at=passed.next_at,
        missed=row.missed + passed.too_old + passed_over,
        skipped=row.skipped + (passed.others if queues else len(waiting)),
        waiting=_listed(waiting) if queues and waiting else None,
        updated_at=now,
    )
    replaces = starts and bool(unended)
    after = without_ended(after, unended)
    return Firing(after, instant, replaces, passed.too_old, passed_over)


def _passed(row: ScheduleRow, table: Timetable, now: float, most: int) -> _Passed:
    """The instants up to now, of which at most so many are to be decided about."""
    first = row.next_at
    if first is None or first > now:
        return _Passed([], 0, 0, first)
    oldest = now - max(row.catch_up, ON_TIME)
    # The first one was among the instants when it was stored, whatever they are by now.
    late = first <= oldest
    too_old = 1 + table.counted(first, oldest) if late else 0
    begin = oldest if late else first
    fresh = newest(table, begin, now, most)
    if not late and len(fresh) < most:
        fresh = [first, *fresh]
    others = table.counted(begin, now) + (not late) - len(fresh)
    return _Passed(fresh, too_old, others, next(table.instants(now), None))


def _due(row: ScheduleRow, table: Timetable, now: float) -> int:
    """How many instants up to now have not been decided about."""
    passed = _passed(row, table, now, 1)
    return passed.too_old + len(passed.fresh) + passed.others


def without_ended(row: ScheduleRow, unended: Collection[int]) -> ScheduleRow:
    """The row of a schedule of whose tasks these have not ended."""
    return row._replace(started=_listed(unended))


def started(row: ScheduleRow, key: int, task_id: str, instant: float | None) -> ScheduleRow:
    """The row of a schedule that starts this task, at one of its instants or by hand."""
    row = row._replace(started=_listed([*keys_of(row), key]))
    if instant is None:
        return row
    return row._replace(fired=row.fired + 1, fired_at=instant, fired_task=task_id)


def declared(known: ScheduleRow, asked: ScheduleRow, table: Timetable | None) -> ScheduleRow | None:
    """The row of a known schedule that is declared again; None where that changes nothing.

    What it has done stays, and whether it is paused. Its next instant stays unless the times are
    others: then those of `table`, its own until now, that are due and have not fired are missed.
    Instants that wait are skipped where the new row queues none.
    """
    changed = {name: getattr(asked, name) for name in _DECLARED}
    if all(getattr(known, name) == value for name, value in changed.items()):
        return None
    if any(getattr(known, name) != changed[name] for name in _TIMES):
        due = 0 if table is None or known.paused else _due(known, table, asked.updated_at)
        missed = known.missed + due
        changed |= {"next_at": asked.next_at, "anchor": asked.anchor, "missed": missed}
    if asked.overlap != "queue":
        changed |= {"waiting": None, "skipped": known.skipped + len(instants_of(known))}
    return known._replace(**changed, updated_at=asked.updated_at)


def paused(row: ScheduleRow, now: float, by: str | None, why: str | None) -> ScheduleRow:
    """The row of a schedule that fires no more. What waits in it stays."""
    return row._replace(paused=1, paused_by=by, paused_why=why, updated_at=now)


def resumed(row: ScheduleRow, table: Timetable, now: float) -> ScheduleRow:
    """The row of a schedule that fires again, from the first instant after now."""
    following = next(table.instants(now), None)
    return row._replace(
        paused=0, paused_by=None, paused_why=None, next_at=following, updated_at=now
    )


def instant_id(name: str, instant: float) -> str:
    """The id of the task of an instant: the name, and the instant in UTC."""
    return f"{name}/{datetime.fromtimestamp(instant, UTC):%Y-%m-%dT%H:%M:%SZ}"


def instants_of(row: ScheduleRow) -> list[float]:
    """The instants that wait."""
    return [] if row.waiting is None else list(json.loads(row.waiting))


def keys_of(row: ScheduleRow) -> list[int]:
    """The keys of the tasks that may not have ended."""
    return list(json.loads(row.started))


def _listed(values: Collection[float]) -> str:
    return json.dumps(list(values))
