"""What one life of an actor writes: the counters, changes and marks that go with its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..storage.clock import Clock, Due
from ..storage.records import Loaded, SnapshotRow, Status, StepReset, StepRow
from . import rows
from .recollection import Recollection, RunChanges, run_row
from .schema import join
from .state import Changes, encoded_state
from .traffic import Traffic

if TYPE_CHECKING:
    from .actor import Actor
    from .ledger import Ledger

__all__ = ["Journal"]

_SNAPSHOT_FLOOR = 4096
"""Bytes of changes below which no snapshot is worth its row."""
_SNAPSHOT_CHANGES = 500
"""Changes after which a snapshot bounds the loading, however small they are."""


class Journal:
    """Keeps the ledger of one chapter of one life. Nothing here awaits."""

    __slots__ = ("_born", "_changes", "_grown", "_keeps", "_reset_after", "_unsure", "_version",
                 "finished", "ledger", "recollection", "run_changes", "traffic")  # fmt: skip

    def __init__(
        self, ledger: Ledger, version: int, loaded: Loaded, born: float, reset_after: float
    ) -> None:
        """`born` is when the life began, on the monotonic clock: earlier than its chapter."""
        self.ledger = ledger
        self.recollection = Recollection(loaded.steps)
        self.run_changes = RunChanges(loaded)
        self.traffic = Traffic()
        self.finished = False
        """The end of the task is on the ledger."""
        self._version = version
        self._reset_after = reset_after
        self._born = born
        self._grown = 0
        self._changes = 0
        self._keeps: int | None = None
        self._unsure: tuple[str, ...] = ()

    @property
    def clock(self) -> Clock:
        return self.ledger.clock

    # --- what `run` changes ---------------------------------------------------------------

    def run_changed(self, changes: Changes) -> None:
        """`run` has changed its state; recorded with the next commit, unless it only repeats."""
        self._record(*self.run_changes.note(changes))

    def enter_live(self, view: Actor) -> None:
        """Record what `run` left differently while it repeated what the store knows."""
        self._record(*self.run_changes.go_live(view, self.recollection))

    def _record(self, fields: dict[str, bytes], appends: dict[str, list[bytes]]) -> None:
        if fields or appends:
            ledger = self.ledger
            key, chapter = ledger.row.key, ledger.progress.chapter
            seq = ledger.next_seq()
            row, size = run_row(key, seq, chapter, self._version, fields, appends)
            ledger.run(row, size)

    # --- checkpoints ----------------------------------------------------------------------

    def settle_counters(self) -> None:
        """What a new checkpoint clears: unseen deaths, and crashes once it has run long enough."""
        progress = self.ledger.progress
        if progress.deaths_settled != progress.deaths_total:
            self.ledger.change(deaths_settled=progress.deaths_total)
        if progress.crashes and self.clock.monotonic() - self._born >= self._reset_after:
            self.ledger.change(crashes=0)

    def serves(self, keeps: int) -> None:
        """What is finished is never asked for again: forget it at each snapshot.

        Of the messages that were taken the newest `keeps` stay.
        """
        self._keeps = keeps
        since = self.recollection.drop_finished()
        self._changes = len(since)
        self._grown = sum(len(row.changes or b"") for row in since)

    def grows(self, row: StepRow, view: Actor) -> None:
        """Write a snapshot once the changes since the last one outweigh it."""
        self._grown += len(row.changes or b"")
        self._changes += row.changes is not None or self._keeps is not None
        many = self._changes >= _SNAPSHOT_CHANGES
        if not many and self._grown <= _SNAPSHOT_FLOOR:
            return
        if self._keeps is None and self.recollection.unused():
            return  # a replay is under way: the view does not show all that is stored
        state = join(encoded_state(view))
        if many or self._grown >= len(state):
            self._snapshot(row.seq or 0, state)

    def _snapshot(self, seq: int, state: bytes) -> None:
        self._grown = self._changes = 0
        key, chapter = self.ledger.row.key, self.ledger.progress.chapter
        self.ledger.snapshot(SnapshotRow(key, seq, chapter, self._version, state, None))
        if self._keeps is not None:
            self.ledger.forget(self._keeps)

    def next_chapter(self, view: Actor) -> None:
        """The present state becomes the one with which the next chapter begins."""
        ledger = self.ledger
        seq = ledger.next_seq()
        chapter = ledger.progress.chapter + 1
        ledger.change(chapter=chapter, chapter_seq=seq)
        self._snapshot(seq, join(encoded_state(view)))
        ledger.event("chapter_started", data={"chapter": chapter})

    def succeeded(self, output: bytes) -> None:
        """Put the end of the task on the ledger; it rides with what else is there."""
        self.finished = True
        unused = self.recollection.unused()
        if unused:
            self.ledger.event("steps_unused", data={"steps": unused[:100]})
        self.ledger.change(status=Status.SUCCEEDED, epoch=None, output=output, error=None)
        self.ledger.event("task_succeeded")

    # --- attempts -------------------------------------------------------------------------

    def step(self, row: StepRow, size: int = 0) -> None:
        """Put a step's row on the ledger; that of a step below a step is wanted again here."""
        self.ledger.step(row, size)
        if row.above:
            self.recollection.put(row)

    def passed(self, row: StepRow, kind: str, data: bytes | None, at: float, size: int = 0) -> None:
        """The same, with the event that tells of it."""
        self.ledger.passed(row, kind, data, at, size)
        if row.above:
            self.recollection.put(row)

    def let_go(self, row: StepRow, kind: str) -> None:
        """An attempt was ended by others: record that without waiting, and charge nothing."""
        self.step(rows.let_go(row, self.clock.now()))
        self.ledger.event(kind, step=row.identity)
        self.ledger.write()

    def forget(self, identity: str) -> None:
        """A failed step below a step gets a fresh budget."""
        total = self.ledger.progress.deaths_total
        self.ledger.reset(StepReset(self.ledger.row.key, identity, total))
        row = self.recollection.get(identity)
        if row is not None:
            self.recollection.put(rows.forgotten(row, total))

    def backs_off(self, identity: str, due: Due) -> None:
        """A step backs off: where nothing else runs, the task's row says until when."""
        self.traffic.backs_off(identity, due)
        only = self.traffic.only_waits()
        if only is not None and only.at != self.ledger.progress.due_at:
            self.ledger.due(only)

    def no_longer_due(self, only: Due | None) -> None:
        """A step has ended: the row tells of the first backoff that is left, or of none."""
        if self.finished or self.ledger.refusal is not None:
            return
        if (None if only is None else only.at) != self.ledger.progress.due_at:
            self.ledger.due(only)
            self.ledger.write()

    def note_unsure(self, name: str) -> None:
        """Warn once: unkeyed calls of a step come from more than one asyncio task."""
        if name not in self._unsure:
            self._unsure += (name,)
            if self.run_changes.live:
                self.ledger.event("step_order_unsure", step=name)
