"""`ctx.receive` and `ctx.send`: messages from task to task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..storage.errors import MailboxFull, TaskEnded, TaskNotFound
from ..storage.mail import MessageRow, Recipient
from ..storage.records import ENDED
from .current import CURRENT
from .definition import StepDefinition, StepOptions
from .halting import halt_as_unreadable
from .messages import Matcher, packed
from .retry import Retry
from .taking import take

if TYPE_CHECKING:
    from .scope import Call, Scope

__all__ = ["SEND", "receive", "ride", "ride_to"]


async def receive(call: Call, matcher: Matcher, timeout: object) -> Any:
    """The first message that fits, taken for good; or the one that is recorded.

    Raises WaitTimeout when the time is over first, now or in the life that waited.
    """
    body = await take(call, lambda mail: matcher.fits(mail.body), timeout)
    try:
        return matcher.read(body)
    except ValueError as error:
        where = f"the message taken by {call.identity}"
        raise halt_as_unreadable(call.scope, where, error) from error


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
    body = packed(message, scope.life.limits)
    name = given or scope.ctx.message_id()
    environment = scope.life.environment
    found = environment.here(task_id) or await environment.store.recipient(task_id)
    if found is None:
        raise TaskNotFound(task_id)
    ride_to(scope, task_id, found, name, body)


def ride_to(scope: Scope, task_id: str, found: Recipient, name: str, body: bytes) -> None:
    """The same of a packed message, to a receiver that was looked at."""
    life = scope.life
    environment = life.environment
    if found.status in ENDED:
        raise TaskEnded(task_id, str(found.status))
    if found.untaken + scope.sent_to(found.key) >= environment.mailbox:
        raise MailboxFull(task_id, environment.mailbox)
    scope.check_open()
    scope.packs().sends.append(MessageRow(found.key, name, life.task_id, body, life.clock.now()))
