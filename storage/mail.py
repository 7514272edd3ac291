"""What the store keeps of messages, and of questions to people, as typed rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .records import Status, StepRow

__all__ = ["Asked", "Mail", "MessageRow", "Post", "Recipient", "Request"]


@dataclass(slots=True)
class MessageRow:
    """A message, as it is sent."""

    task: int
    """The key of the task that it is for."""
    id: str
    """Unique among all that were ever sent to the task: a repeat changes nothing."""
    sender: str | None
    """The id of the task that sent it; None for one from outside."""
    body: bytes
    """JSON object: the name of its type, and its value."""
    sent_at: float
    position: int | None = None
    """Its place in the order of all messages, told by whoever writes it; None where one of its id
    was sent before."""


class Mail(NamedTuple):
    """A message that nobody has taken, and its place in the order of all messages."""

    position: int
    id: str
    sender: str | None
    body: bytes
    sent_at: float
    reply: bytes | None = None
    """What is answered to it where it is taken; None where it asked for nothing."""


class Request(NamedTuple):
    """A message that asked for a reply, as it stands."""

    status: Status
    """That of the task it was sent to."""
    body: bytes | None
    """What was asked; None where no such message is known."""
    reply: bytes | None


class Recipient(NamedTuple):
    """What one who sends must know of the receiver."""

    key: int
    status: Status
    untaken: int
    actor: str
    """The stored name of its class."""


class Asked(NamedTuple):
    """A question to a person, as far as it is known."""

    row: StepRow | None
    """The wait; None where nobody ever asked."""
    answered: bool
    by: str | None
    """Who answered."""


class Post(NamedTuple):
    """A message from outside. It holds only if its receiver has not ended and has room for it."""

    task: int
    task_id: str
    message: MessageRow
    limit: int
    """How many messages the mailbox may hold that were not taken."""
    question: str | None = None
    """Identity of the wait that it answers, which must be open; None for any other message."""
    size: int = 0
