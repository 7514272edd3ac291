"""The owner's copy of a task's row: it gives out the numbers and puts writes together.

Whatever a task writes between two batches of the store becomes one commit. Numbers are given
when something is added, on the loop, so the order of adding is the order in the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Self

from pydantic_core import to_json

from ..storage.clock import Clock, Due
from ..storage.errors import EverstepError, Refused
from ..storage.interface import Refusal, Store
from ..storage.kin import Asks
from ..storage.mail import Mail, MessageRow
from ..storage.pieces import ChunkRow
from ..storage.records import (
    ChildRow,
    Commit,
    EffectRow,
    EventRow,
    NewTask,
    Outcome,
    Progress,
    RunRow,
    SnapshotRow,
    Status,
    StepReset,
    StepRow,
    TaskRow,
)
from ..storage.schedules import ScheduleChange
from .environment import Environment
from .failures import HalfDone
from .foreign import twice_on_fault
from .rows import forgotten

__all__ = ["Ledger"]


class _Rare:
    """What few drafts have."""

    __slots__ = ("awaits", "chunks", "effects", "follows", "keeps", "resets", "runs", "schedule",
                 "seen", "sends", "starts", "takes")  # fmt: skip

    def __init__(self) -> None:
        self.resets: list[StepReset] = []
        self.runs: list[RunRow] = []
        self.effects: dict[str, EffectRow] = {}
        self.sends: list[MessageRow] = []
        self.takes: list[Mail] = []
        self.starts: list[ChildRow] = []
        self.awaits: tuple[str, ...] = ()
        self.follows: Asks | None = None
        self.chunks: list[ChunkRow] = []
        self.seen: int | None = None
        self.keeps: int | None = None
        self.schedule: ScheduleChange | None = None

    def within(self, commit: Commit) -> Commit:
        """The commit, with all of this."""
        return commit._replace(
            resets=tuple(self.resets),
            runs=tuple(self.runs),
            effects=tuple(self.effects.values()),
            sends=tuple(self.sends),
            takes=tuple(self.takes),
            starts=tuple(self.starts),
            follows=self.follows,
            awaits=self.awaits,
            chunks=tuple(self.chunks),
            seen=self.seen,
            keeps=self.keeps,
            schedule=self.schedule,
        )


class _Draft:
    """What has been added since the store took the last draft."""

    __slots__ = ("events", "ledger", "rare", "sealed", "size", "snapshots", "steps", "submitted",
                 "waiters")  # fmt: skip

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.steps: dict[str, StepRow] = {}
        self.snapshots: tuple[SnapshotRow, ...] = ()
        self.events: list[EventRow] = []
        self.waiters: list[asyncio.Future[None]] = []
        self.size = 0
        self.submitted = False
        self.sealed = False
        self.rare: _Rare | None = None

    def with_rare(self) -> _Rare:
        if self.rare is None:
            self.rare = _Rare()
        return self.rare

    def seal(self) -> Commit | None:
        try:
            return self.ledger.seal(self)
        except Exception as fault:
            raise HalfDone.by(self.ledger.row.id, fault) from fault

    def settle(self, refusal: Refusal | None) -> None:
        ledger, before = self.ledger, self.ledger.committed
        refused = ledger.settled(self, refusal)
        try:
            if ledger.committed is not before:
                ledger.tell(self.rare, before)
        finally:
            for waiter in self.waiters:
                if not waiter.done():
                    if refused is None:
                        waiter.set_result(None)
                    else:
                        waiter.set_exception(refused)


class Ledger:
    """The progress of one task, as its owner in this process knows it.

    `durable()` is the only await: cancelling it leaves the write as it was, on its way. After a
    refusal the ledger takes no more: every later `durable()` raises the same refusal.
    """

    __slots__ = ("_draft", "_environment", "_latest", "_loop", "_sealed", "committed", "event_seq",
                 "progress", "refusal", "row", "seq")  # fmt: skip

    def __init__(
        self, environment: Environment, row: TaskRow, *, new: NewTask | None = None
    ) -> None:
        self.row = NewTask._make(row[:-1]) if new is None else new
        """What of the task's row is written once; the rest is its progress."""
        self.progress = row.progress
        self.seq = row.progress.seq
        self.event_seq = row.progress.event_seq
        self.refusal: EverstepError | None = None
        self._environment = environment
        self._sealed: Progress | None = None if new is not None else row.progress
        self.committed = self._sealed
        """The progress as the newest commit left it; None before the first one."""
        self._draft: _Draft | None = None
        self._latest: _Draft | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one that all who wait for it are on, known once one does."""

    @classmethod
    def create(cls, environment: Environment, new: NewTask, progress: Progress) -> Self:
        """The ledger of a task that does not exist yet; its first commit creates it."""
        row = TaskRow(*new, progress)
        ledger = cls(environment, row, new=new)
        ledger._open()
        return ledger

    # --- adding: at once, on the loop -------------------------------------------------

    def change(self, **fields: Any) -> None:
        """Set columns of the progress; written with the next commit."""
        self.progress = self.progress._replace(**fields)
        self._open()

    def turn(self, progress: Progress) -> None:
        """Set all columns of the progress; its numbers are the ledger's own."""
        self.progress = progress
        self._open()

    def due(self, due: Due | None) -> None:
        """Set or clear the instant before which nothing is to be done."""
        at, boot, delay = due or (None, None, None)
        if self.progress.due_at is not None or at is not None:
            self.change(due_at=at, due_boot=boot, due_delay=delay)

    def next_seq(self) -> int:
        """The next number for a checkpoint, a change of `run`, or a snapshot."""
        self.seq += 1
        return self.seq

    def step(self, row: StepRow, size: int = 0) -> None:
        """Add a step's row; a row of the same step that is still on this draft is replaced."""
        draft = self._draft or self._open()
        draft.steps[row.identity] = row
        draft.size += size

    def passed(self, row: StepRow, kind: str, data: bytes | None, at: float, size: int) -> None:
        """Add a step's row, as `step`, and the event that tells of it at this instant."""
        draft = self._draft or self._open()
        self.event_seq += 1
        draft.steps[row.identity] = row
        draft.events.append(EventRow(row.task, self.event_seq, at, kind, row.identity, data))
        draft.size += size if data is None else size + len(data)

    def reset(self, reset: StepReset) -> None:
        """Forget the failure of a step, also where it is in the same commit."""
        draft = self._open()
        draft.with_rare().resets.append(reset)
        row = draft.steps.get(reset.identity)
        if row is not None and row.outcome is not Outcome.COMPLETED:
            draft.steps[row.identity] = forgotten(row, reset.deaths_seen)

    def run(self, row: RunRow, size: int) -> None:
        draft = self._open()
        draft.with_rare().runs.append(row)
        draft.size += size

    def snapshot(self, row: SnapshotRow) -> None:
        draft = self._open()
        draft.snapshots += (row,)
        draft.size += len(row.state)

    def effect(self, row: EffectRow, size: int = 0) -> None:
        draft = self._open()
        draft.with_rare().effects[row.operation] = row
        draft.size += size

    def send(self, message: MessageRow) -> None:
        draft = self._open()
        draft.with_rare().sends.append(message)
        draft.size += len(message.body)

    def pieces(self, row: ChunkRow) -> None:
        """Add pieces to the end of a stream."""
        draft = self._open()
        draft.with_rare().chunks.append(row)
        draft.size += len(row.pieces)

    def take(self, mail: Mail) -> None:
        """Take a message, with the row of what takes it."""
        draft = self._open()
        draft.with_rare().takes.append(mail)
        draft.size += len(mail.reply or b"")

    def forget(self, keeps: int) -> None:
        """With the snapshot that was added: forget what a server has handled."""
        self._open().with_rare().keeps = keeps

    def leave(self, seen: int) -> None:
        """The task leaves memory, and has looked at the messages up to that place."""
        self._open().with_rare().seen = seen

    def start(self, child: ChildRow) -> None:
        """Start a child, with the checkpoint of the step that does."""
        draft = self._open()
        draft.with_rare().starts.append(child)
        draft.size += len(child.first.state) + len(child.first.appends or b"")
        data = {"task": child.new.id, "actor": child.new.actor}
        self.event("child_started", data=data)

    def leave_to(self, children: Iterable[str]) -> None:
        """The task leaves memory until one of these children has ended."""
        self._open().with_rare().awaits = tuple(children)

    def follow(self, asks: Asks) -> None:
        """All this is only to hold while the task's parent asks for it."""
        self._open().with_rare().follows = asks

    def schedule(self, change: ScheduleChange) -> None:
        """With the first commit of a task: how far the schedule that starts it has come."""
        draft = self._open()
        draft.with_rare().schedule = change
        draft.size += change.size

    def event(
        self, kind: str, *, step: str | None = None, data: dict[str, Any] | None = None
    ) -> None:
        """Append to the log. `data` must be plain JSON."""
        self.event_bytes(kind, step, None if data is None else to_json(data))

    def event_bytes(self, kind: str, step: str | None, data: bytes | None) -> None:
        draft, now = self._draft or self._open(), self._environment.clock.now()
        self.event_seq += 1
        draft.events.append(EventRow(self.row.key, self.event_seq, now, kind, step, data))
        draft.size += 0 if data is None else len(data)

    # --- writing ----------------------------------------------------------------------

    def write(self) -> None:
        """Hand what was added to the store, without waiting. Raises an earlier refusal."""
        if self.refusal is not None:
            raise self.refusal
        draft = self._draft
        if draft is None or draft.submitted:
            return
        try:
            self._environment.store.submit(draft)
        except EverstepError as error:
            self.refusal = error
            raise
        draft.submitted = True

    def refuse(self, refusal: Refused) -> None:
        """Take no more; of what was added, what the store has not sealed yet is not written."""
        if self.refusal is None:
            self.refusal = refusal

    async def durable(self) -> None:
        """Return when everything added so far is committed.

        Raises:
            Refused: the store refused a write of this task; the owner has lost it.
            StoreFailed: the store could not commit for longer than its patience.
            StoreClosed: the store is closed.
        """
        landing = self.landing()
        if landing is not None:
            await landing

    def landing(self) -> asyncio.Future[None] | None:
        """`write`, and what `durable` waits for; None where all that was added is committed."""
        self.write()
        draft = self._draft or self._latest
        if draft is None:
            return None
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = self._loop.create_future()
        draft.waiters.append(waiter)
        return waiter

    @property
    def store(self) -> Store:
        return self._environment.store

    @property
    def clock(self) -> Clock:
        return self._environment.clock

    @property
    def status(self) -> Status:
        return self.progress.status

    @property
    def shown(self) -> Status | None:
        """The status that the store has, or will have by what it was handed before."""
        return None if self._sealed is None else self._sealed.status

    def _open(self) -> _Draft:
        draft = self._draft
        if draft is None:
            draft = self._draft = _Draft(self)
        return draft

    # --- called by the draft ----------------------------------------------------------

    def seal(self, draft: _Draft) -> Commit | None:
        self._draft = None
        if self.refusal is not None:
            return None
        self._latest, draft.sealed = draft, True
        now = self._environment.clock.now()
        after = self.progress.advanced(self.seq, self.event_seq, now)
        before, self._sealed, self.progress = self._sealed, after, after
        row = self.row
        new = row if before is None else None
        steps, events = tuple(draft.steps.values()), tuple(draft.events)
        commit = Commit(
            row.key, row.id, before, after, new, steps, events, row.parent, draft.size,
            draft.snapshots,
        )  # fmt: skip
        return commit if draft.rare is None else draft.rare.within(commit)

    def settled(self, draft: _Draft, refusal: Refusal | None) -> EverstepError | None:
        if self._latest is draft:
            self._latest = None
        if self.refusal is None:
            self.refusal = refusal
        if refusal is not None or not draft.sealed:
            return self.refusal
        self.committed = self._sealed
        return None

    def tell(self, rare: _Rare | None, before: Progress | None) -> None:
        """Tell whom a commit concerns, in the order of commits; where a fault comes, again."""
        told_twice = "a commit of the task %s was told twice"
        twice_on_fault(told_twice, self.row.id, self._tell, rare, before)

    def _tell(self, rare: _Rare | None, before: Progress | None) -> None:
        """May be called again for the same commit: who was told hears nothing new."""
        environment = self._environment
        if rare is not None:
            environment.posted(rare.sends)
            environment.replied(self.row.key, rare.takes)
        environment.family(self, () if rare is None else rare.starts, before)
        if environment.on_commit is not None:
            environment.on_commit(self)
