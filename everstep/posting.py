"""Messages from outside: each is a write of its own, and its refusal an answer to the sender."""

from __future__ import annotations

import asyncio
from functools import partial

from .actors.messages import packed
from .ids import check_name, new_id
from .session import Session
from .storage.errors import MailboxFull, TaskEnded, Undelivered
from .storage.interface import Refusal
from .storage.mail import MessageRow, Post
from .submitting import submitted

__all__ = ["deliver", "post", "send"]


async def send(session: Session, task_id: str, message: object, given: str | None) -> None:
    """Send a message; when this returns, it is in the store.

    Raises TaskNotFound, TaskEnded, MailboxFull, NotSerializable, PayloadTooLarge.
    """
    environment = session.environment
    name = new_id(session.clock.now()) if given is None else check_name("id", given)
    body = packed(message, environment.limits)
    row = await session.row(task_id)
    await post(session, row.key, task_id, name, body)


async def post(session: Session, key: int, task_id: str, name: str, body: bytes) -> None:
    """Send a packed message; when this returns, it is in the store.

    Raises TaskEnded, MailboxFull.
    """
    environment = session.environment
    sent = MessageRow(key, name, None, body, session.clock.now())
    posted = Post(key, task_id, sent, environment.mailbox, size=len(body))
    refusal = await deliver(session, posted)
    if isinstance(refusal, Undelivered):
        if refusal.status is None:
            raise MailboxFull(task_id, environment.mailbox)
        raise TaskEnded(task_id, refusal.status)
    if refusal is not None:
        raise refusal


async def deliver(session: Session, post: Post) -> Refusal | None:
    """Write a message; why it was refused, if it was. Cancelled, it may be written."""
    told = partial(session.environment.posted, [post.message])
    return await asyncio.shield(submitted(session, post, told))
