"""What is known of a stopped store, as frozen records of plain data."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from ..actors.blame import Blame, read_blame
from ..actors.failures import Failure
from ..actors.remedy import way_on
from ..reading import in_utc, in_utc_or_none
from ..storage.clock import Clock
from ..storage.record import record
from ..storage.records import Status, TreeRow
from ..storage.sqlite import overview
from ..storage.sqlite.overview import Mention
from ..storage.sqlite.stopped import UNFIT
from ..supervisor.restart import Restart
from ..supervisor.services.outline import Outline, read_outline

__all__ = [
    "LaneContents",
    "OwnerFacts",
    "PoolContents",
    "ScheduleLine",
    "SomeTasks",
    "StoppedStore",
    "TaskLine",
    "TreeFacts",
    "look",
]

_NAMED = 5
"""So many tasks of each kind are named; the others are counted."""
_SCHEDULES = 100
"""So many schedules are shown."""


@record
class OwnerFacts:
    """The process that owned the store last. It has ended, or has closed the store."""

    epoch: int
    pid: int
    host: str
    started_at: datetime


@record
class TreeFacts:
    """The tree that a runtime opened the store with, as far as its specification tells."""

    epoch: int
    at: datetime
    outline: Outline


@record
class TaskLine:
    """One task that somebody may want to look at."""

    id: str
    actor: str
    reason: str | None
    """Why it is paused or failed, in one word."""
    step: str | None
    error: str | None
    crashes: int
    deaths: int
    updated_at: datetime
    to_go_on: str | None
    """The line to write, where it waits for a person."""


@record
class SomeTasks:
    """How many there are, and the newest of them."""

    total: int
    newest: tuple[TaskLine, ...]


@record
class LaneContents:
    """How many tasks of one lane wait and run."""

    name: str
    queued: int
    running: int


@record
class PoolContents:
    """What the store holds for one pool."""

    name: str
    in_tree: bool
    """Where it is not, its tasks wait for a tree with a pool of this name."""
    counts: dict[str, int]
    """By status; those that do not occur are left out."""
    due: int
    """Queued tasks that could start at once."""
    next_due_in: float | None
    """Seconds until the next queued task could; None where none waits for a time."""
    suspects: SomeTasks
    paused: SomeTasks
    left_running: SomeTasks
    """Running when their process died; the next start recovers them."""
    failed: SomeTasks
    lanes: tuple[LaneContents, ...]
    """Those with most tasks that are queued or running."""


@record
class ScheduleLine:
    """One schedule."""

    name: str
    times: str
    """When it fires, in words."""
    actor: str
    paused: bool
    next_at: datetime | None
    fired: int
    skipped: int
    missed: int


@record
class StoppedStore:
    """A store that no process owns. All instants are aware, in UTC."""

    schema: int
    owner: OwnerFacts | None
    tree: TreeFacts | None
    """None where no runtime has left one."""
    pools: tuple[PoolContents, ...]
    """Those of the tree in its order, then the others by name."""
    schedules: tuple[ScheduleLine, ...]
    """Those that are due next, paused ones last."""


def look(connection: sqlite3.Connection, clock: Clock) -> StoppedStore:
    """What a store holds, in one transaction that the caller has begun."""
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    owner = overview.owner(connection)
    tree = _tree(overview.tree(connection))
    boot, seconds = clock.boot()
    since_boot = seconds if boot and boot == owner.boot else None
    suspects_from = _suspects_from(tree)
    counts = overview.counts(connection)
    names = [*suspects_from, *(name for name in counts if name not in suspects_from)]
    return StoppedStore(
        schema=schema,
        owner=_owner(owner) if owner.epoch else None,
        tree=tree,
        pools=tuple(
            _pool(
                connection, name, counts.get(name, {}), suspects_from.get(name), clock, since_boot
            )
            for name in names
        ),
        schedules=tuple(map(_schedule, overview.schedules(connection, _SCHEDULES) or ())),
    )


def _schedule(row: overview.Planned) -> ScheduleLine:
    times = f"every {row.every} s" if row.cron is None else f"{row.cron} ({row.tz})"
    return ScheduleLine(
        name=row.name,
        times=times,
        actor=row.actor,
        paused=bool(row.paused),
        next_at=in_utc_or_none(row.next_at),
        fired=row.fired,
        skipped=row.skipped,
        missed=row.missed,
    )


def _owner(owner: overview.Owner) -> OwnerFacts:
    return OwnerFacts(owner.epoch, owner.pid, owner.host, in_utc(owner.started_at))


def _tree(row: TreeRow | None) -> TreeFacts | None:
    """The tree; None also for one that is written in a way that is not known here."""
    if row is None:
        return None
    try:
        return TreeFacts(row.epoch, in_utc(row.at), read_outline(row.outline))
    except ValueError:
        return None


def _suspects_from(tree: TreeFacts | None) -> dict[str, int]:
    """The names of the tree's pools, and the deaths from which on a task is a suspect in each."""
    if tree is None:
        return {}
    found: dict[str, int] = {}
    for pool in (one for one in tree.outline.walk() if one.kind == "pool"):
        restart = pool.settings.get("restart")
        most = restart.get("max_deaths") if isinstance(restart, dict) else None
        found[pool.name] = most - 1 if isinstance(most, int) else Restart().suspects_from
    return found


def _pool(
    connection: sqlite3.Connection,
    name: str,
    counts: dict[Status, int],
    suspects_from: int | None,
    clock: Clock,
    since_boot: float | None,
) -> PoolContents:
    def some(status: Status) -> SomeTasks:
        newest = overview.newest(connection, name, status, _NAMED)
        waits = status in (Status.PAUSED, Status.FAILED)
        return SomeTasks(counts.get(status, 0), _lines(newest, waits))

    backlog = overview.backlog(connection, name, clock.now(), since_boot)
    suspects = overview.suspects(connection, name, suspects_from or Restart().suspects_from, _NAMED)
    return PoolContents(
        name=name,
        in_tree=suspects_from is not None,
        counts={status.value: count for status, count in counts.items()},
        due=backlog.due,
        next_due_in=backlog.next_in,
        suspects=SomeTasks(suspects.total, _lines(suspects.newest, False)),
        paused=some(Status.PAUSED),
        left_running=some(Status.RUNNING),
        failed=some(Status.FAILED),
        lanes=tuple(LaneContents(*lane) for lane in overview.lanes(connection, name, _NAMED)),
    )


def _lines(mentions: Sequence[Mention], waits: bool) -> tuple[TaskLine, ...]:
    return tuple(_line(mention, waits) for mention in mentions)


def _line(mention: Mention, waits: bool) -> TaskLine:
    blame = None if mention.error is None else _blame(mention.error)
    failure = None if blame is None else blame.failure
    return TaskLine(
        id=mention.id,
        actor=mention.actor,
        reason=mention.reason,
        step=None if blame is None else blame.step,
        error=None if failure is None else str(failure),
        crashes=mention.crashes,
        deaths=mention.deaths,
        updated_at=in_utc(mention.updated_at),
        to_go_on=way_on(mention.id, mention.reason, failure) if waits else None,
    )


def _blame(error: bytes) -> Blame:
    """What a task failed with; where that is damaged, so much of it."""
    try:
        return read_blame(error)
    except UNFIT as unfit:
        return Blame(Failure("unreadable", f"what is stored of its error is damaged: {unfit}"))
