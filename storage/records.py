"""What the store keeps, as typed rows, and what a write is.

Everything that an actor does reaches the store as a `Commit`: the task's progress before and
after, and the rows that go with it. All of a commit is written, or nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .mail import Mail, MessageRow
from .pieces import ChunkRow
from .record import record
from .schedules import ScheduleChange
from .states import ENDED, LIVING, EffectState, Outcome, Status

if TYPE_CHECKING:
    from .kin import Asks

__all__ = [
    "ENDED",
    "LIVING",
    "ChildRow",
    "Commit",
    "EffectRow",
    "EffectState",
    "EventRow",
    "Loaded",
    "NewTask",
    "Outcome",
    "Progress",
    "Receipt",
    "RunRow",
    "SnapshotRow",
    "Status",
    "StepReset",
    "StepRow",
    "TaskRow",
    "TreeRow",
]


class Progress(NamedTuple):
    """The part of a task's row that changes. Written whole with every commit of the task."""

    status: Status
    epoch: int | None
    """The epoch of the process that owns the task; None when nobody does, as of a task that waits
    and has left memory."""
    generation: int
    """Raised when the task is given up, paused or cancelled, and when a person resumes it."""
    incarnation: int
    chapter: int
    chapter_seq: int
    """The number after which the present chapter began."""
    seq: int
    """The newest number given to a checkpoint or to a change made by `run`."""
    event_seq: int
    """The number of the newest event."""
    crashes: int
    deaths: int
    """Deaths that count against `max_deaths`."""
    brushes: int
    """Deaths as a suspect beside others: they count against nobody, but raise suspicion."""
    deaths_total: int
    """All deaths, never reset."""
    deaths_settled: int
    """`deaths_total` at the newest checkpoint: later deaths may have cost an attempt unseen."""
    death_epoch: int | None
    """The epoch of the process in which the task died last."""
    due_at: float | None
    """Not before this instant: a backoff's end, or that of the first of its waits."""
    due_boot: float | None
    due_delay: float | None
    claimed_at: float | None
    """When the present or last life began, UTC seconds."""
    crashed_at: float | None
    updated_at: float
    reason: str | None
    """Why it is paused, failed or cancelled, in one word."""
    output: bytes | None
    error: bytes | None
    listens: int
    """1 where the task waits for messages, out of memory or about to leave it."""

    def advanced(self, seq: int, event_seq: int, now: float) -> Progress:
        """With these numbers, at this time: the most frequent change, in half of `_replace`'s."""
        between, after = self[_SEQ + 2 : _UPDATED_AT], self[_UPDATED_AT + 1 :]
        return Progress._make((*self[:_SEQ], seq, event_seq, *between, now, *after))

    @classmethod
    def beginning(cls, now: float) -> Progress:
        """A task that nothing has happened to yet: queued, in its first chapter, without events."""
        return cls._make((*_BEGINNING[:_UPDATED_AT], now, *_BEGINNING[_UPDATED_AT + 1 :]))


_SEQ = Progress._fields.index("seq")
_UPDATED_AT = Progress._fields.index("updated_at")
_BEGINNING = Progress(
    status=Status.QUEUED,
    epoch=None,
    generation=1,
    incarnation=0,
    chapter=1,
    chapter_seq=0,
    seq=0,
    event_seq=0,
    crashes=0,
    deaths=0,
    brushes=0,
    deaths_total=0,
    deaths_settled=0,
    death_epoch=None,
    due_at=None,
    due_boot=None,
    due_delay=None,
    claimed_at=None,
    crashed_at=None,
    updated_at=0.0,
    reason=None,
    output=None,
    error=None,
    listens=0,
)


class TaskRow(NamedTuple):
    """One durable run of an actor."""

    key: int
    """The number under which all rows of the task are kept; never shown."""
    id: str
    actor: str
    pool: str
    priority: int
    lane: str | None
    given: str
    """Digest of the fields that the caller of `start` set."""
    seed: bytes
    created_at: float
    parent: int | None
    """The key of the task that started it; None where nobody but a caller of `start` did."""
    on_parent: str | None
    """Of a child, whether it is to "cancel", "leave" or "follow" what its parent does."""
    progress: Progress


class NewTask(NamedTuple):
    """The part of a task's row that is written once."""

    key: int
    id: str
    actor: str
    pool: str
    priority: int
    lane: str | None
    given: str
    seed: bytes
    created_at: float
    parent: int | None = None
    on_parent: str | None = None


class StepRow(NamedTuple):
    """One step of a task: its attempts, and once it has ended its checkpoint."""

    task: int
    identity: str
    """Unique within the task; contains chapter, the step above, name, key and occurrence."""
    above: str
    """Identity of the step that called this one; empty directly below `run`."""
    name: str
    key: str
    occurrence: int
    chapter: int
    version: int
    """Version of the actor's state that `changes` and `appends` were written with."""
    serial: int
    """Number of the newest attempt since the step first began; of a wait, how often it has failed.
    Never reset."""
    attempts: int
    """Attempts used up of the present budget."""
    open: int
    """1 while an attempt has begun and its end is not recorded."""
    deaths_seen: int
    """The task's `deaths_total` up to which deaths were charged to this step."""
    due_at: float | None
    due_boot: float | None
    due_delay: float | None
    outcome: Outcome | None
    seq: int | None
    """Number of the checkpoint; None while there is none."""
    digest: str
    """Canonical digest of the arguments."""
    preview: str
    """The arguments in short, for people."""
    output: bytes | None
    changes: bytes | None
    """JSON object of the fields that the step changed."""
    appends: bytes | None
    """JSON object: for each `Log` field that grew, the list of what was appended."""
    error: bytes | None
    """Facts of the newest failure, as JSON."""
    first_at: float
    """When the first attempt of this budget began, UTC seconds."""
    started_at: float
    ended_at: float | None


class StepReset(NamedTuple):
    """Forgets the failure of a step, or its used-up attempts; its totals stay."""

    task: int
    identity: str
    deaths_seen: int


class RunRow(NamedTuple):
    """What `run` itself changed since the last commit."""

    task: int
    seq: int
    chapter: int
    version: int
    changes: bytes | None
    appends: bytes | None


class SnapshotRow(NamedTuple):
    """The whole state after the number `seq`, without what the `Log` fields hold.

    The one with the chapter's first number is the state with which the chapter began. Only the
    first of a task (`seq` 0) has `appends`: what the `Log` fields held at `start`.
    """

    task: int
    seq: int
    chapter: int
    version: int
    state: bytes
    appends: bytes | None


class EventRow(NamedTuple):
    """One row of the log."""

    task: int
    seq: int
    at: float
    kind: str
    step: str | None
    data: bytes | None
    """A JSON object, or None."""


class EffectRow(NamedTuple):
    """A side effect with a stable operation id."""

    task: int
    operation: str
    """The operation id, unique within the store."""
    step: str
    """Identity of the step that used it; in `run`, the chapter's prefix."""
    key: str
    state: EffectState
    epoch: int
    incarnation: int
    serial: int
    digest: str
    preview: str
    value: bytes | None
    error: bytes | None
    decided_by: str | None
    started_at: float
    ended_at: float | None


class ChildRow(NamedTuple):
    """A task as it begins, queued: one that another one starts, or one of many."""

    new: NewTask
    progress: Progress
    first: SnapshotRow
    event: EventRow


class TreeRow(NamedTuple):
    """The shape of the tree that the runtime of this epoch opened the store with."""

    epoch: int
    at: float
    outline: str
    """A JSON object, see `everstep.supervisor.services.outline`."""


class Commit(NamedTuple):
    """One write of one task: all of it or nothing.

    It holds only if the task's row still equals `before` in owner, incarnation, generation,
    status and numbers, no step in `steps` has an outcome or a newer attempt in the store, and
    every effect in `effects` is absent, open, or not done there, no message in `takes` was taken,
    and no task of the id of one in `starts` exists. `before` is None for a new task. Messages in
    `sends` that were sent before change nothing; any other queues its receiver, where that listens
    out of memory. The end of a task queues its parent, where that waits for it out of memory; where
    it fails, or is cancelled, paused or resumed, it is marked if its children are to follow it.
    """

    task: int
    task_id: str
    before: Progress | None
    after: Progress
    new: NewTask | None = None
    steps: tuple[StepRow, ...] = ()
    events: tuple[EventRow, ...] = ()
    parent: int | None = None
    """Of a child: the key of its parent."""
    size: int = 0
    """Bytes of its payloads, for the cap of a batch."""
    snapshots: tuple[SnapshotRow, ...] = ()
    resets: tuple[StepReset, ...] = ()
    """From here on is what few commits have."""
    runs: tuple[RunRow, ...] = ()
    effects: tuple[EffectRow, ...] = ()
    sends: tuple[MessageRow, ...] = ()
    takes: tuple[Mail, ...] = ()
    starts: tuple[ChildRow, ...] = ()
    follows: Asks | None = None
    """Of a child that goes after its parent: what that must still ask, or the commit is refused."""
    awaits: tuple[str, ...] = ()
    """Of a task that leaves memory: the ids of the children that it waits for. Where one of them
    has ended, the commit leaves it queued instead."""
    chunks: tuple[ChunkRow, ...] = ()
    """Pieces, each of which is added to the end of its stream."""
    seen: int | None = None
    """Of a task that leaves memory: the place of the newest message that it has looked at. Where
    there is a newer one, the commit leaves it queued instead."""
    keeps: int | None = None
    """Of a server, with a snapshot: what was finished up to it is forgotten, and all messages that
    were taken but this many of the newest. What was appended to a Log stays."""
    schedule: ScheduleChange | None = None
    """Of a task that a schedule starts: how far that has come with it."""


@record
class Receipt:
    """A receipt that arrives when its attempt or incarnation is gone: a fact, accepted late.

    It holds only if the effect is open and its intent came from this epoch. It takes no number
    and no event.
    """

    task_id: str
    effect: EffectRow
    size: int = 0


@record
class Loaded:
    """What the store knows of one task, as an incarnation needs it."""

    row: TaskRow
    base: SnapshotRow
    """Flows: the state with which the chapter began. Others: the newest snapshot."""
    steps: tuple[StepRow, ...]
    """All steps of the present chapter, by `seq`, those without a checkpoint last."""
    runs: tuple[RunRow, ...]
    """What `run` changed in the present chapter, by `seq`."""
    appends: tuple[tuple[int, bytes], ...]
    """Appends to `Log` fields up to the base, as (seq, JSON object), by seq; seq 0 is `start`."""
    effects: tuple[EffectRow, ...]
