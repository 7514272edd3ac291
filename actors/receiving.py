"""`ctx.receive` and `ctx.send`: messages from task to task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..storage.clock import left_of
from ..storage.errors import MailboxFull, TaskEnded, TaskNotFound
from ..storage.records import ENDED, MessageRow
from . import rows
from .current import CURRENT
from .definition import StepDefinition, StepOptions
from .errors import WaitTimeout
from .messages import Matcher, packed
from .retry import Retry
from .timers import chosen_delay
from .waits import Answer, Wait

if TYPE_CHECKING:
    from .incarnation import Incarnation
    from .scope import Call, Scope

__all__ = ["SEND", "receive", "ride"]

_TIMED_OUT = b"null"


async def receive(call: Call, matcher: Matcher, timeout: object) -> Any:
    """The first message that fits, taken for good; or the one that is recorded.

    Raises WaitTimeout when the time is over first, now or in the life that waited.
    """
    life = call.scope.life
    row = life.take(call)
    if row is not None and row.outcome is not None:
        life.sync(call.scope)
        return _read(life, call, matcher, row.output or _TIMED_OUT)
    await life.gate()
    call.scope.takes_off(call)
    try:
        life.journal.enter_live(life.root.view)
        choose = None if timeout is None else chosen_delay(timeout, "timeout")[0]
        if row is None or (choose is not None and row.due_at is None):
            due = None if choose is None else choose(life.clock)
            row = rows.begun_wait(life, call, due)
        wait = Wait(call, row, listens=True)

        async def answer() -> Answer | None:
            mail = await life.waits.mailbox.first(matcher.fits)
            if mail is not None:
                return Answer(mail.body, mail)
            over = wait.due is not None and left_of(life.clock, wait.due) <= 0
            return Answer(_TIMED_OUT) if over else None

        output = await life.waits.until(wait, answer)
    finally:
        call.scope.has_landed(call)
    return _read(life, call, matcher, output)


def _read(life: Incarnation, call: Call, matcher: Matcher, output: bytes) -> Any:
    if output == _TIMED_OUT:
        raise WaitTimeout("ctx.receive", call.preview)
    try:
        return matcher.read(output)
    except ValueError as error:
        raise life.unreadable(call.scope, f"the message taken by {call.identity}", error) from error


# --- sending ----------------------------------------------------------------------------------


async def _send(task_id: str, message: object, id: str | None) -> None:  # noqa: A002
    scope = CURRENT.get()
    assert scope is not None  # it is only ever called as a step
    await ride(scope, task_id, message, id)


SEND = StepDefinition(
    "ctx.send",
    _send,
    StepOptions(retry=Retry(5, give_up_on=(TaskEnded, TaskNotFound))),
    method=False,
)
"""What `ctx.send` is in `run`: a step of its own."""


async def ride(scope: Scope, task_id: str, message: object, given: str | None) -> None:
    """Send a message with the commit of the step whose attempt this is.

    Raises TaskNotFound, TaskEnded, MailboxFull: as the receiver stands now.
    """
    life = scope.life
    environment = life.environment
    body = packed(message, life.limits)
    name = given or scope.ctx.message_id()
    found = await environment.store.recipient(task_id)
    if found is None:
        raise TaskNotFound(task_id)
    if found.status in ENDED:
        raise TaskEnded(task_id, str(found.status))
    if found.untaken + scope.sent_to(found.key) >= environment.mailbox:
        raise MailboxFull(task_id, environment.mailbox)
    scope.check_open()
    scope.sends.append(MessageRow(found.key, name, life.task_id, body, life.clock.now()))
