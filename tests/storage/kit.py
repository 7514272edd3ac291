"""Rows, writes and drafts for the tests of the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from everstep.storage import (
    Commit,
    EffectRow,
    EffectState,
    EventRow,
    NewTask,
    Outcome,
    Progress,
    Refusal,
    RunRow,
    SnapshotRow,
    Status,
    StepRow,
    Store,
    Write,
)
from everstep.testing import ManualClock

QUEUED = Progress.beginning(1.0)._replace(chapter=0)


class Note:
    """A draft that hands over a finished write and remembers what became of it."""

    def __init__(self, write: Write | None) -> None:
        self.write = write
        self.settled: asyncio.Future[Refusal | None] = asyncio.get_running_loop().create_future()
        self.sealed = 0

    def seal(self) -> Write | None:
        self.sealed += 1
        return self.write

    def settle(self, refusal: Refusal | None) -> None:
        self.settled.set_result(refusal)


def submit(store: Store, *writes: Write) -> list[Note]:
    """Queue writes in one turn of the loop, so that they share a batch."""
    notes = [Note(write) for write in writes]
    for note in notes:
        store.submit(note)
    return notes


async def settle(store: Store, *writes: Write) -> list[Refusal | None]:
    """What became of writes that were submitted together."""
    return [await note.settled for note in submit(store, *writes)]


async def hold(store: Store, *writes: Write) -> None:
    """Write, and see that nothing is refused."""
    assert await settle(store, *writes) == [None] * len(writes)


def step_row(task: int, identity: str = "0/load", **fields: Any) -> StepRow:
    """A step that has completed at its first attempt."""
    row = StepRow(
        task=task,
        identity=identity,
        above="",
        name="load",
        key="",
        occurrence=0,
        chapter=0,
        version=1,
        serial=1,
        attempts=1,
        open=0,
        deaths_seen=0,
        due_at=None,
        due_boot=None,
        due_delay=None,
        outcome=Outcome.COMPLETED,
        seq=1,
        digest="d",
        preview="()",
        output=b'"out"',
        changes=b'{"a":1}',
        appends=None,
        error=None,
        first_at=1.0,
        started_at=1.0,
        ended_at=2.0,
    )
    return row._replace(**fields)


def begun_row(task: int, identity: str = "0/load", **fields: Any) -> StepRow:
    """A step whose first attempt has begun."""
    begun: dict[str, Any] = {
        "open": 1,
        "outcome": None,
        "seq": None,
        "output": None,
        "changes": None,
        "ended_at": None,
    }
    return step_row(task, identity, **(begun | fields))


def effect_row(task: int, operation: str = "op-1", **fields: Any) -> EffectRow:
    """An intent."""
    row = EffectRow(
        task=task,
        operation=operation,
        step="0/load",
        key="mail",
        state=EffectState.INTENT,
        epoch=1,
        incarnation=1,
        serial=1,
        digest="d",
        preview="()",
        value=None,
        error=None,
        decided_by=None,
        started_at=1.0,
        ended_at=None,
    )
    return row._replace(**fields)


def snapshot_row(task: int, seq: int = 0, **fields: Any) -> SnapshotRow:
    return SnapshotRow(task, seq, 0, 1, b'{"n":0}', None)._replace(**fields)


def run_row(task: int, seq: int, **fields: Any) -> RunRow:
    return RunRow(task, seq, 0, 1, b'{"n":1}', None)._replace(**fields)


def event_row(task: int, seq: int, **fields: Any) -> EventRow:
    return EventRow(task, seq, 1.0, "happened", None, b'{"n":1}')._replace(**fields)


@dataclass
class Life:
    """A task as its owner sees it: each write goes out from what the last one left."""

    store: Store
    id: str = "report-7"
    actor: str = "Report"
    pool: str = "tasks"
    priority: int = 0
    lane: str | None = None
    key: int = 0
    progress: Progress = QUEUED
    made: dict[str, Any] = field(default_factory=dict[str, Any])

    def create(self, **changes: Any) -> Commit:
        """The write that makes the task, queued unless `changes` say otherwise."""
        self.key = self.store.new_key()
        self.progress = QUEUED._replace(**changes)
        new = NewTask(
            self.key, self.id, self.actor, self.pool, self.priority, self.lane, "g", b"seed", 1.0
        )
        return Commit(
            self.key, self.id, None, self.progress, new, snapshots=(snapshot_row(self.key),)
        )

    def run(self) -> Commit:
        """The write that makes the task, running under this epoch."""
        return self.create(status=Status.RUNNING, epoch=self.store.epoch, incarnation=1)

    def next(self, changes: dict[str, Any] | None = None, **rows: Any) -> Commit:
        """The next write, with these changes of the task's progress and these rows."""
        before = self.progress
        self.progress = before._replace(**(changes or {}))
        return Commit(self.key, self.id, before, self.progress, **rows)

    def event(self, kind: str = "happened") -> Commit:
        """A write of one event."""
        seq = self.progress.event_seq + 1
        return self.next({"event_seq": seq}, events=(event_row(self.key, seq, kind=kind),))

    def checkpoint(self, identity: str = "0/load", **fields: Any) -> Commit:
        """A write of one finished step and its event."""
        seq, event = self.progress.seq + 1, self.progress.event_seq + 1
        return self.next(
            {"seq": seq, "event_seq": event, "updated_at": float(seq)},
            steps=(step_row(self.key, identity, seq=seq, **fields),),
            events=(event_row(self.key, event, kind="step_completed", step=identity),),
        )


async def lives(store: Store, count: int) -> list[Life]:
    """Tasks that run under this epoch."""
    made = [Life(store, id=f"task-{number}") for number in range(count)]
    await hold(store, *[life.run() for life in made])
    return made


def names(refusals: Sequence[Refusal | None]) -> list[str]:
    """The classes of refusals; empty where a write held."""
    return ["" if refusal is None else type(refusal).__name__ for refusal in refusals]


async def lose_patience(settled: asyncio.Future[Any], clock: ManualClock) -> None:
    """Let time pass, as often as the store tries again, until it has settled a write."""
    while not settled.done():
        waiting = asyncio.create_task(clock.until_waiting())
        await asyncio.wait({settled, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not settled.done():
            clock.advance(2)


async def put_away(store: Store, clock: ManualClock) -> None:
    """Close a store that a failed test may have left in trouble."""
    closing = asyncio.create_task(store.close())
    while not closing.done():
        clock.advance(2)
        await asyncio.wait({closing}, timeout=0.05)
    await closing
