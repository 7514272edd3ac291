"""What follows from the end of a life, as plain functions of the task's progress.

Each answers with the whole new progress and the events that tell it; nothing here writes, waits
or reads a clock. The tests go through the design's table of counters row by row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..actors.backoff import Chance
from ..actors.exits import Crashed, Halted, Released
from ..actors.failures import Failure
from ..storage.records import Progress, Status
from .restart import Restart, backoff_delay

__all__ = [
    "Decision",
    "Told",
    "after_crash",
    "after_death",
    "after_halt",
    "after_release",
    "at_cancel",
    "at_claim",
    "at_resume",
    "at_settle",
    "at_wake",
]


class Told(NamedTuple):
    """An event to be appended to the task's log."""

    kind: str
    data: dict[str, Any]
    step: str | None = None
    """Identity of the step that it is about; None for `run` and the task."""


class Decision(NamedTuple):
    """A task's next progress, its number and events left to the ledger."""

    progress: Progress
    events: tuple[Told, ...]
    delay: float | None = None
    """Seconds before which the task is not claimed again; stored as a due time."""


def at_claim(progress: Progress, *, epoch: int, now: float) -> Decision:
    """A queued task begins a new life in the process that has this epoch."""
    after = progress._replace(
        status=Status.RUNNING,
        epoch=epoch,
        incarnation=progress.incarnation + 1,
        claimed_at=now,
        due_at=None,
        due_boot=None,
        due_delay=None,
    )
    return Decision(after, (Told("task_claimed", {"incarnation": after.incarnation}),))


def at_wake(progress: Progress) -> Decision:
    """The first wait of a task that left memory is over: it is queued to go on."""
    after = _left(progress)._replace(status=Status.QUEUED)
    return Decision(after, (Told("task_woken", {}),))


def after_crash(
    progress: Progress,
    end: Crashed,
    restart: Restart,
    *,
    now: float,
    chance: Chance,
    error: bytes | None = None,
) -> Decision:
    """An exception left `run`: queued again after a backoff, or given up.

    `error` is what the row is to hold of it, where more is known than its own facts.
    """
    crashes = progress.crashes + 1
    base = _left(progress)._replace(
        crashes=crashes, crashed_at=now, error=error or end.failure.encoded()
    )
    data = {"crashes": crashes, **_facts(end.failure)}
    if end.never_retried:
        return _given_up(base, restart, "never_retried", Told("task_crashed", data))
    if crashes > restart.max_restarts:
        return _given_up(base, restart, "crashes", Told("task_crashed", data))
    delay = backoff_delay(restart, crashes, chance)
    told = Told("task_crashed", {**data, "delay": delay})
    return Decision(base._replace(status=Status.QUEUED), (told,), delay or None)


def after_halt(progress: Progress, end: Halted) -> Decision:
    """The task cannot go on without a person: paused, nothing charged."""
    after = _left(progress)._replace(
        status=Status.PAUSED,
        generation=progress.generation + 1,
        reason=end.reason,
        error=end.failure.encoded(),
    )
    data = {"reason": end.reason, "remedy": end.remedy, **_facts(end.failure)}
    return Decision(after, (Told("task_paused", data),))


def after_release(progress: Progress, end: Released) -> Decision:
    """The life was ended in order: given back, nothing charged.

    Where all its steps backed off, what is left of the delay is still waited in the queue.
    """
    after = progress._replace(status=Status.QUEUED, epoch=None)
    if progress.status is Status.WAITING:
        after = _left(after)  # it stands in its waits again, and says until when
    data: dict[str, Any] = {}
    if end.late:
        data["late"] = list(end.late)
    if end.severed:
        data["severed"] = True
    return Decision(after, (Told("task_released", data),))


def after_death(progress: Progress, restart: Restart, *, alone: bool) -> Decision:
    """The process died while the task ran in it.

    A death counts against the task, but the last one only if the task was `alone`: else any of
    those that ran may be the killer, and the task is only more suspect.
    """
    if progress.due_at is not None:
        return after_release(progress, Released())
    counts = alone or progress.deaths + 1 < restart.max_deaths
    after = progress._replace(
        status=Status.QUEUED,
        epoch=None,
        deaths=progress.deaths + counts,
        brushes=progress.brushes + (not counts),
        deaths_total=progress.deaths_total + 1,
        death_epoch=progress.epoch,
    )
    data = {"deaths": after.deaths, "deaths_total": after.deaths_total, "alone": alone}
    told = Told("task_died", data)
    if after.deaths < restart.max_deaths:
        return Decision(after, (told,))
    return _given_up(after._replace(error=_deadly(after).encoded()), restart, "deaths", told)


def at_resume(progress: Progress, *, by: str | None, why: str | None) -> Decision:
    """A person lets a paused or ended task go on, with fresh budgets, as a new generation."""
    after = progress._replace(
        status=Status.QUEUED,
        epoch=None,
        generation=progress.generation + 1,
        crashes=0,
        deaths=0,
        brushes=0,
        deaths_settled=progress.deaths_total,
        due_at=None,
        due_boot=None,
        due_delay=None,
        reason=None,
        error=None,
    )
    return Decision(after, (Told("task_resumed", _who(progress, by, why)),))


def at_cancel(progress: Progress, *, by: str | None, why: str | None) -> Decision:
    """A person ends the task, whatever it is doing."""
    after = _left(progress)._replace(
        status=Status.CANCELLED, generation=progress.generation + 1, reason="cancelled"
    )
    return Decision(after, (Told("task_cancelled", _who(progress, by, why)),))


def at_settle(progress: Progress, settled: Told) -> Decision:
    """A person has decided an unknown effect; a task that was paused for it goes on."""
    waits = progress.reason in ("effect_unknown", "state_unreadable")
    if progress.status is not Status.PAUSED or not waits:
        return Decision(progress, (settled,))
    after = progress._replace(status=Status.QUEUED, reason=None, error=None)
    return Decision(after, (settled,))


def _left(progress: Progress) -> Progress:
    """Owned by nobody, with nothing to wait for."""
    return progress._replace(epoch=None, due_at=None, due_boot=None, due_delay=None, listens=0)


def _given_up(progress: Progress, restart: Restart, reason: str, told: Told) -> Decision:
    failed = restart.on_give_up == "fail"
    after = _left(progress)._replace(
        status=Status.FAILED if failed else Status.PAUSED,
        generation=progress.generation + 1,
        reason=reason,
    )
    kind = "task_failed" if failed else "task_paused"
    data: dict[str, Any] = {"reason": reason}
    if restart.on_give_up == "escalate":
        data["escalates"] = True
    return Decision(after, (told, Told(kind, data)))


def _facts(failure: Failure) -> dict[str, Any]:
    return {"error": str(failure)[:500]}


def _who(progress: Progress, by: str | None, why: str | None) -> dict[str, Any]:
    said = {"from": str(progress.status), "by": by, "why": why}
    return {name: value for name, value in said.items() if value is not None}


def _deadly(progress: Progress) -> Failure:
    return Failure(
        kind="death",
        message=f"the process died {progress.deaths} times while this task ran, "
        "the last time while nothing else did",
    )
