"""What the store keeps of schedules, as typed rows."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ScheduleChange", "ScheduleRow"]


class ScheduleRow(NamedTuple):
    """A schedule: when its tasks are due, what each is made of, and how far it has come."""

    name: str
    revision: int
    """The number of its newest write, which is given to no other while the row is in the store."""
    cron: str | None
    every: int | None
    """Seconds between two instants; None where `cron` tells them."""
    tz: str
    anchor: float
    """The instant from which `every` is counted."""
    overlap: str
    catch_up: float
    actor: str
    given: str
    """Digest of the fields that were set, as in the row of each of its tasks."""
    version: int
    state: bytes
    """The state with which each of its tasks begins."""
    appends: bytes | None
    pool: str
    priority: int
    lane: str | None
    paused: int
    paused_by: str | None
    paused_why: str | None
    next_at: float | None
    """The first instant that has not been decided; None where the calendar has no more."""
    fired_at: float | None
    """The newest instant for which a task was started."""
    fired_task: str | None
    waiting: str | None
    """JSON list of the instants whose tasks start when those before have ended."""
    started: str
    """JSON list of the keys of tasks that it started, without those known to have ended."""
    fired: int
    skipped: int
    missed: int
    created_at: float
    updated_at: float


class ScheduleChange(NamedTuple):
    """One write of one schedule. It holds only if that still has the revision `before`.

    `before` is None for a new one, `after` for one that is deleted. It may be a part of the commit
    that creates the task of a firing: then both are written, or neither.
    """

    name: str
    before: int | None
    after: ScheduleRow | None
    size: int = 0

    @property
    def task_id(self) -> str:
        """What it is called where its refusal is told."""
        return f"schedule {self.name}"
