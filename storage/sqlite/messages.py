"""Messages: how they are sent, taken and read, and how they wake whom they are for."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ..mail import Asked, Mail, MessageRow, Post, Recipient, Request
from ..records import ENDED, Commit, Status, StepRow
from .fragments import quoted
from .queries import step_row

__all__ = [
    "is_known",
    "messages",
    "post",
    "question",
    "questions",
    "recipient",
    "request",
    "send",
    "take",
    "wake_unseen",
]

_MAIL = ", ".join(Mail._fields)
_ENDED = quoted(ENDED)

_OPEN = "step.name = 'ctx.ask_human' AND step.outcome IS NULL AND step.output IS NOT NULL"
"""A question that waits for its answer. The condition of an index."""

_SENT = "task, id, sender, body, sent_at"

_SEND = f"""
    INSERT INTO message ({_SENT}) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (task, id) DO NOTHING
"""

_POST = f"""
    INSERT INTO message ({_SENT})
    SELECT ?, ?, ?, ?, ?
    WHERE (SELECT status FROM task WHERE key = ?) NOT IN ({_ENDED})
      AND (SELECT count(*) FROM message WHERE task = ? AND taken IS NULL) < ?
      AND (? IS NULL OR EXISTS (SELECT 1 FROM step WHERE task = ? AND identity = ? AND {_OPEN}))
    ON CONFLICT (task, id) DO NOTHING
"""

_TAKE = "UPDATE message SET taken = ?, reply = ? WHERE position = ? AND taken IS NULL"

# A task that waits in memory is told there; one that is out of memory and listens is queued.
_WAKE = """
    UPDATE task
    SET status = 'queued', event_seq = event_seq + 1, updated_at = max(updated_at, ?),
        due_at = NULL, due_boot = NULL, due_delay = NULL, listens = 0
    WHERE key = ? AND status = 'waiting' AND epoch IS NULL AND listens = 1
"""
_UNSEEN = """
      AND EXISTS (
        SELECT 1 FROM message WHERE message.task = task.key AND taken IS NULL AND position > ?
      )
"""
_TELL = """
    INSERT INTO event (task, seq, at, kind)
    SELECT key, event_seq, ?, 'task_woken' FROM task WHERE key = ?
"""


def send(connection: sqlite3.Connection, message: MessageRow) -> None:
    """Send a message whose receiver was looked at before; one with a known id changes nothing."""
    _put(connection, _SEND, message)


def post(connection: sqlite3.Connection, post: Post) -> bool:
    """Send a message unless its receiver has ended or its mailbox is full; whether it is there.

    One that answers a question is sent once, while that is open.
    """
    message = post.message
    limits = (message.task, message.task, post.limit, post.question, message.task, post.question)
    if _put(connection, _POST, message, *limits):
        return True
    return post.question is None and is_known(connection, message)


def _put(
    connection: sqlite3.Connection, statement: str, message: MessageRow, *limits: object
) -> bool:
    """Send a message by this statement, tell it its place, and wake its receiver; whether it did.

    A transaction that is undone is written again as a whole: what was told last holds.
    """
    values = (message.task, message.id, message.sender, message.body, message.sent_at)
    written = connection.execute(statement, values + limits)
    message.position = written.lastrowid if written.rowcount else None
    if message.position is None:
        return False
    _wake(connection, message.task, message.sent_at)
    return True


def is_known(connection: sqlite3.Connection, message: MessageRow) -> bool:
    """Whether a message of this id was sent to the task before."""
    found = connection.execute(
        "SELECT 1 FROM message WHERE task = ? AND id = ?", (message.task, message.id)
    )
    return found.fetchone() is not None


def take(connection: sqlite3.Connection, taken: Sequence[Mail], seq: int) -> bool:
    """Take messages; whether all of them were there to be taken."""
    rows = [(seq, mail.reply, mail.position) for mail in taken]
    return connection.executemany(_TAKE, rows).rowcount == len(rows)


def wake_unseen(connection: sqlite3.Connection, commit: Commit) -> None:
    """Queue a task that is leaving memory and has been sent what it has not looked at."""
    at = commit.after.updated_at
    if connection.execute(_WAKE + _UNSEEN, (at, commit.task, commit.seen)).rowcount:
        connection.execute(_TELL, (at, commit.task))


def _wake(connection: sqlite3.Connection, task: int, at: float) -> None:
    if connection.execute(_WAKE, (at, task)).rowcount:
        connection.execute(_TELL, (at, task))


def messages(connection: sqlite3.Connection, key: int, after: int, limit: int) -> list[Mail]:
    """Messages to a task that nobody has taken, after a place, in order."""
    rows = connection.execute(
        f"""
        SELECT {_MAIL} FROM message WHERE task = ? AND taken IS NULL AND position > ?
        ORDER BY position LIMIT ?
        """,
        (key, after, limit),
    )
    return [Mail(*row) for row in rows]


def questions(
    connection: sqlite3.Connection, after: int, limit: int
) -> list[tuple[int, str, StepRow]]:
    """Questions that wait for an answer, as (place, id of the task, row), in the order of asking.

    Only those that the present chapter of a task that has not ended asks, and nobody has answered.
    """
    columns = ", ".join(f"step.{field}" for field in StepRow._fields)
    rows = connection.execute(
        f"""
        SELECT step.position, task.id, {columns}
        FROM step JOIN task ON task.key = step.task
        WHERE {_OPEN} AND step.position > ?
          AND task.status NOT IN ({_ENDED}) AND task.chapter = step.chapter
          AND NOT EXISTS (
            SELECT 1 FROM message
            WHERE message.task = step.task AND message.id = char(1) || step.identity
          )
        ORDER BY step.position LIMIT ?
        """,
        (after, limit),
    )
    return [(row[0], row[1], step_row(row[2:])) for row in rows]


def question(connection: sqlite3.Connection, key: int, identity: str) -> Asked:
    """The row of a wait, and whether a message answers it already."""
    row = connection.execute(
        f"SELECT {', '.join(StepRow._fields)} FROM step WHERE task = ? AND identity = ?",
        (key, identity),
    ).fetchone()
    sender = connection.execute(
        "SELECT sender FROM message WHERE task = ? AND id = char(1) || ?", (key, identity)
    ).fetchone()
    by = None if sender is None else sender[0]
    return Asked(None if row is None else step_row(row), sender is not None, by)


def recipient(connection: sqlite3.Connection, task_id: str) -> Recipient | None:
    """What one who sends must know of the receiver."""
    row = connection.execute(
        """
        SELECT key, status, (
            SELECT count(*) FROM message WHERE message.task = task.key AND taken IS NULL
        ), actor
        FROM task WHERE id = ?
        """,
        (task_id,),
    ).fetchone()
    return None if row is None else Recipient(row[0], Status(row[1]), *row[2:])


def request(connection: sqlite3.Connection, key: int, message: str) -> Request | None:
    """What became of a message of this id; None where there is no such task."""
    row = connection.execute(
        """
        SELECT task.status, message.body, message.reply
        FROM task LEFT JOIN message ON message.task = task.key AND message.id = ?
        WHERE task.key = ?
        """,
        (message, key),
    ).fetchone()
    return None if row is None else Request(Status(row[0]), row[1], row[2])
