"""What the store tells of a task, as frozen records for people and programs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Literal, cast

from .actors.actor import Actor, steps_of
from .actors.blame import Blame, read_blame
from .actors.failures import Failure, read_failure
from .actors.remedy import way_on
from .actors.timers import is_wait
from .actors.values import ValueCodec
from .errors import TaskFailed, TaskPaused
from .storage.interface import RecordedEvent
from .storage.record import record
from .storage.records import EffectRow, EffectState, Outcome, Status, StepRow, TaskRow

__all__ = [
    "EffectRecord",
    "Event",
    "StepRecord",
    "TaskInfo",
    "due_in_utc",
    "effect_record",
    "event_of",
    "failed",
    "in_utc",
    "in_utc_or_none",
    "info_of",
    "paused",
    "step_record",
]

_FIRST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
_LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


@record
class TaskInfo:
    """Where a task is. All instants are aware, in UTC."""

    id: str
    actor: str
    status: Status
    reason: str | None
    """Why it is paused, failed or cancelled, in one word."""
    generation: int
    incarnation: int
    crashes: int
    """Crashes since it last got on."""
    deaths: int
    """Deaths of a process that count against it."""
    priority: int
    pool: str
    parent: str | None
    """The id of the task that started it; None where a caller of `start` did."""
    lane: str | None
    """With whom it shares the pool's slots, as `start` was told."""
    created_at: datetime
    updated_at: datetime
    due_at: datetime | None
    """Before this instant it is not started, or no step of it is tried, again; where it waits, the
    first of its waits ends then."""
    steps_running: tuple[str, ...]
    """Identities of the steps that execute here just now."""
    error: Failure | None
    """The newest crash, or why it was given up or paused."""
    unknown_here: bool
    """No class of this runtime has the actor's name, so the task waits."""


@record
class Event:
    """One row of a task's log."""

    task_id: str
    number: int
    """Its place in the log of its task, from 1 without gaps."""
    position: int
    """Its place among the events of all tasks of the store: higher is later."""
    at: datetime
    kind: str
    step: str | None
    data: dict[str, Any]


@record
class StepRecord:
    """What is known of one step."""

    name: str
    key: str
    identity: str
    arguments: str
    """In short, for people."""
    outcome: Outcome | None
    output: Any
    error: Failure | None
    """The newest failure."""
    attempts: int
    """Used up of the present budget."""
    executions: int
    """Since the step first began."""
    running: bool
    started_at: datetime
    """When the first attempt of the present budget began."""
    ended_at: datetime | None
    next_attempt_at: datetime | None


@record
class EffectRecord:
    """A side effect: `unknown` is one that may have happened and of which no call runs here."""

    key: str
    step: str
    """Identity of the step that used it; for `run` empty, or the prefix of a later chapter."""
    operation_id: str
    state: Literal["running", "unknown", "done", "not_done"]
    value: Any
    error: Failure | None
    decided_by: str | None
    arguments: str
    started_at: datetime
    ended_at: datetime | None


def info_of(
    row: TaskRow, *, steps_running: tuple[str, ...], known: bool, parent: str | None
) -> TaskInfo:
    """The present state of a task's row."""
    progress = row.progress
    return TaskInfo(
        id=row.id,
        actor=row.actor,
        status=progress.status,
        reason=progress.reason,
        generation=progress.generation,
        incarnation=progress.incarnation,
        crashes=progress.crashes,
        deaths=progress.deaths,
        priority=row.priority,
        pool=row.pool,
        parent=parent,
        lane=row.lane,
        created_at=in_utc(row.created_at),
        updated_at=in_utc(progress.updated_at),
        due_at=due_in_utc(progress.due_at),
        steps_running=steps_running,
        error=None if progress.error is None else read_failure(progress.error),
        unknown_here=not known,
    )


def event_of(recorded: RecordedEvent) -> Event:
    """An event, with its data as plain Python."""
    row = recorded.event
    return Event(
        task_id=recorded.task_id,
        number=row.seq,
        position=recorded.position,
        at=in_utc(row.at),
        kind=row.kind,
        step=row.step,
        data={} if row.data is None else _object(json.loads(row.data)),
    )


def _object(data: Any) -> dict[str, Any]:
    """What an event carries: ours are objects, and what a user emitted may be any JSON."""
    if data is None:
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {"value": data}


def step_record(row: StepRow, actor: type[Actor] | None, *, lives: bool) -> StepRecord:
    """A step's row; its output decoded where the class is known and still reads it.

    Where its task does not live, none of its attempts is under way, whatever ended them.
    """
    return StepRecord(
        name=row.name,
        key=row.key,
        identity=row.identity,
        arguments=row.preview,
        outcome=row.outcome,
        output=None if row.output is None else _output(row, actor),
        error=None if row.error is None else read_failure(row.error),
        attempts=row.attempts,
        executions=0 if is_wait(row) else row.serial,
        running=lives and row.open == 1,
        started_at=in_utc(row.first_at),
        ended_at=in_utc_or_none(row.ended_at),
        next_attempt_at=due_in_utc(row.due_at) if row.outcome is None else None,
    )


def _output(row: StepRow, actor: type[Actor] | None) -> Any:
    codec = None if actor is None else _codec(actor, row.name)
    data = row.output or b"null"
    if codec is not None:
        try:
            return codec.decode(data)
        except ValueError:
            pass  # the class has changed since: what is stored is shown as it is
    return json.loads(data)


def _codec(actor: type[Actor], step: str) -> ValueCodec | None:
    definition = steps_of(actor).get(step)
    return None if definition is None else definition.of(actor).output


def effect_record(row: EffectRow, *, running: bool) -> EffectRecord:
    """An effect's row, its value as plain JSON."""
    state: Literal["running", "unknown", "done", "not_done"]
    if row.state is EffectState.RECEIPT:
        state = "done"
    elif row.state is EffectState.NOT_DONE:
        state = "not_done"
    else:
        state = "running" if running else "unknown"
    return EffectRecord(
        key=row.key,
        step=row.step,
        operation_id=row.operation,
        state=state,
        value=None if row.value is None else json.loads(row.value),
        error=None if row.error is None else read_failure(row.error),
        decided_by=row.decided_by,
        arguments=row.preview,
        started_at=in_utc(row.started_at),
        ended_at=in_utc_or_none(row.ended_at),
    )


def failed(row: TaskRow) -> TaskFailed:
    """The error of a task that was given up."""
    blame = _blame(row)
    failure = blame.failure
    return TaskFailed(
        row.id,
        reason=row.progress.reason or "failed",
        step=blame.step,
        attempts=blame.attempts or row.progress.crashes,
        error=failure.kind,
        message=failure.message,
        traceback=failure.traceback,
        rejected=failure.was_rejected,
    )


def paused(row: TaskRow) -> TaskPaused:
    """The error of a task that waits for a person."""
    blame = None if row.progress.error is None else _blame(row)
    failure = None if blame is None else blame.failure
    reason = row.progress.reason or "paused"
    return TaskPaused(
        row.id,
        reason=reason,
        step=None if blame is None else blame.step,
        attempts=0 if blame is None else blame.attempts,
        error=None if failure is None else failure.kind,
        message="" if failure is None else failure.message,
        traceback="" if failure is None else failure.traceback,
        to_go_on=way_on(row.id, reason, failure),
    )


def _blame(row: TaskRow) -> Blame:
    unknown = Blame(Failure("unknown", "nothing was recorded"))
    return unknown if row.progress.error is None else read_blame(row.progress.error)


def in_utc(seconds: float) -> datetime:
    """An instant of the store, aware, in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def in_utc_or_none(seconds: float | None) -> datetime | None:
    """The same of one that there may not be."""
    return None if seconds is None else in_utc(seconds)


def due_in_utc(seconds: float | None) -> datetime | None:
    """An instant that somebody has chosen to wait for; the nearest one that a `datetime` can be."""
    return None if seconds is None else in_utc(min(max(seconds, _FIRST), _LAST))
