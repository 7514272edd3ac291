"""Reminders of a question that nobody has answered: how many there were, when the next is due.

They are kept in the question, which is in the row of its wait. Plain functions: who stands for the
task, its life or, out of memory, its pool, puts what is due on the task's ledger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic_core import from_json, to_json

from ..storage.clock import Clock, Due, due_in, left_of
from .schema import join, split

if TYPE_CHECKING:
    from ..storage.records import StepRow
    from .ledger import Ledger

__all__ = ["Reminders", "next_reminder", "remind", "with_reminders"]

_KEPT = "remind"


class Reminders(NamedTuple):
    """Those of one question."""

    every: float
    """Seconds from the asking to the first, and from each to the next."""
    given: int
    last: float | None
    """When the newest was given, UTC seconds."""
    at: float
    """When the next one is due, UTC seconds."""
    since_boot: float | None
    """The same in seconds since that boot of the machine."""
    boot: str

    @classmethod
    def of(cls, question: bytes | None) -> Self | None:
        """Those that a question has, if any."""
        found = split(question).get(_KEPT)
        return None if found is None else cls(**from_json(found))

    @classmethod
    def anew(cls, clock: Clock, every: float, given: int, last: float | None, left: float) -> Self:
        """The next one is due in `left` seconds."""
        at, since_boot, _ = due_in(clock, left)
        return cls(every, given, last, at, since_boot, clock.boot()[0])

    def due(self, clock: Clock) -> Due:
        """When the next is due; seconds of another boot mean nothing."""
        known = self.boot == clock.boot()[0]
        return Due(self.at, self.since_boot if known else None, self.every)

    def put_into(self, question: bytes) -> bytes:
        """The question with these."""
        return join({**split(question), _KEPT: to_json(self._asdict())})


def with_reminders(question: bytes, every: float | None, kept: bytes | None, clock: Clock) -> bytes:
    """The question, to be called to mind every so many seconds.

    `kept` is the same question as an earlier life asked it: its reminders go on from there, and
    are counted in seconds of the present boot. With another period, the next is due after that.
    """
    if every is None:
        return question
    known = Reminders.of(kept)
    if known is None:
        return Reminders.anew(clock, every, 0, None, every).put_into(question)
    if known.every == every and known.boot and known.boot == clock.boot()[0]:
        return known.put_into(question)
    left = left_of(clock, known.due(clock)) if known.every == every else every
    return known.anew(clock, every, known.given, known.last, left).put_into(question)


def next_reminder(row: StepRow | None, clock: Clock) -> Due | None:
    """When a wait is to be called to mind; None for one that never is."""
    found = None if row is None or row.output is None else Reminders.of(row.output)
    return None if found is None else found.due(clock)


def remind(ledger: Ledger, row: StepRow) -> StepRow:
    """Put a reminder on the ledger, with the question as it stands then, which is returned.

    However many periods have passed it is one reminder, and the next is due a period from now.
    """
    known, clock = Reminders.of(row.output), ledger.clock
    assert known is not None and row.output is not None  # it is only called where one is due
    given = known.given + 1
    after = known.anew(clock, known.every, given, clock.now(), known.every)
    row = row._replace(output=after.put_into(row.output))
    ledger.step(row)
    data: dict[str, Any] = {"for": row.preview, "reminders": given}
    ledger.event("wait_reminded", step=row.identity, data=data)
    return row
