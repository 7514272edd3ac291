"""Waits that a message ends: which one, and what is recorded of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..storage.mail import Mail
from ..storage.records import StepRow
from . import rows
from .reminders import with_reminders
from .timers import chosen_delay
from .wait import Answer, Wait, under_way
from .wait_errors import WaitTimeout

if TYPE_CHECKING:
    from .scope import Call

__all__ = ["TIMED_OUT", "begun", "take"]

TIMED_OUT = b"null"
"""The output of a wait that ended with its timeout."""


async def take(
    call: Call,
    fits: Callable[[Mail], bool],
    timeout: object,
    question: bytes | None = None,
    remind: float | None = None,
    fails: Callable[[bytes], bytes | None] | None = None,
) -> bytes:
    """The body of the first message that fits, taken for good; or that of the recorded one.

    `question` is kept in the row while the wait is open, and called to mind every `remind` seconds.
    Where `fails` makes facts of a failure of the body, these are returned, and the caller is to
    raise it. Raises WaitTimeout when the time is over first, now or in the life that waited.
    """
    life = call.scope.life
    row = life.take(call)
    if row is not None and row.outcome is not None:
        life.sync(call.scope)
        return _body(call, row)
    await life.gate()
    waits = life.waits  # which the life lets go of at its end, and code that is left may stand in
    with under_way(call):
        if question is not None:
            kept = None if row is None else row.output
            question = with_reminders(question, remind, kept, life.clock)
        wait = Wait(call.scope, begun(call, row, timeout, question), listens=True)

        async def answer() -> Answer | None:
            mail = await waits.mailbox.first(fits)
            if mail is not None:
                return Answer(mail.body, mail, None if fails is None else fails(mail.body))
            if wait.is_over:
                return Answer(TIMED_OUT)
            waits.reminds(wait)
            return None

        return _body(call, await waits.until(wait, answer))


def begun(call: Call, row: StepRow | None, timeout: object, question: bytes | None) -> StepRow:
    """The row of a wait that is open: a new one, or that of an earlier life with what it left."""
    life = call.scope.life
    choose = None if timeout is None else chosen_delay(timeout, "timeout")[0]
    if row is None or row.ended_at is not None or (choose is not None and row.due_at is None):
        due = None if choose is None else choose(life.clock)
        return rows.begun_wait(life, call, due, question, 0 if row is None else row.serial)
    if row.output != question:
        row = row._replace(output=question)
        life.ledger.step(row)
    return row


def _body(call: Call, row: StepRow) -> bytes:
    if row.error is not None:
        call.scope.hears_of(row.identity)
        return row.error
    if row.output is None or row.output == TIMED_OUT:
        raise WaitTimeout(call.definition.name, call.preview)
    return row.output
