"""Questions to people, and their answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from .actors.approval import Approval
from .actors.asking import ASK, answer_id, packed_answer, type_of
from .actors.errors import BadCall, checked_text
from .actors.reminders import Reminders
from .actors.values import first_problem
from .errors import AlreadyAnswered, NotAsked, WrongAnswer
from .posting import deliver
from .reading import due_in_utc, in_utc, in_utc_or_none
from .session import Session
from .storage.errors import Superseded, Undelivered
from .storage.mail import Asked, MessageRow, Post
from .storage.record import record
from .storage.records import ENDED, StepRow

__all__ = ["Question", "answer", "open_questions"]

_ROOM = 1 << 40
"""An answer finds room in every mailbox."""

_YES_OR_NO = "it takes True, False, or Approval(approved=…, comment=…)"


@record
class Question:
    """What a task waits for a person to say."""

    number: int
    """Its place among all that were ever asked."""
    task_id: str
    id: str
    """By which it is answered: `task.answer(id, …)`."""
    step: str | None
    """Identity of the step that waits for approval; None for a question of `ask_human`."""
    prompt: str
    schema: dict[str, Any]
    """The JSON schema of the answers."""
    since: datetime
    until: datetime | None
    """When its time is over."""
    reminders: int
    """How many reminders there were, see `remind=`. Who delivers them is the application's."""
    reminded_at: datetime | None
    """When the newest was due and recorded."""


async def open_questions(session: Session, after: int, limit: int) -> list[Question]:
    """Questions that wait for an answer, those after a number, in the order of asking."""
    session.check()
    found = await session.store.questions(after=after, limit=limit)
    return [_question(number, task_id, row) for number, task_id, row in found]


def _question(number: int, task_id: str, row: StepRow) -> Question:
    kept = from_json(row.output or b"{}")
    reminders = Reminders.of(row.output)
    last = None if reminders is None else reminders.last
    return Question(
        number=number,
        task_id=task_id,
        id=row.identity,
        step=kept.get("step"),
        prompt=kept["prompt"],
        schema=kept["schema"],
        since=in_utc(row.started_at),
        until=due_in_utc(row.due_at),
        reminders=0 if reminders is None else reminders.given,
        reminded_at=in_utc_or_none(last),
    )


async def answer(
    session: Session, task_id: str, question: object, data: object, by: str | None
) -> None:
    """Answer a question; when this returns, the answer is stored.

    Raises NotAsked, AlreadyAnswered, WrongAnswer, TaskNotFound.
    """
    if not isinstance(question, str):
        raise BadCall("question", question, "is not the id of a question", "answer(question.id, …)")
    row = await session.row(task_id)
    asked = await session.store.question(row.key, checked_text("question", question))
    kept = _still_open(task_id, question, asked)
    if row.progress.status in ENDED:
        raise NotAsked(task_id, question, f"the task has {row.progress.status}")
    kind = _kind_of(question, from_json(kept))
    body = _valid(session, task_id, question, kind, data, by)
    now = session.clock.now()
    message = MessageRow(row.key, answer_id(question), by, body, now)
    post = Post(row.key, task_id, message, _ROOM, question, len(body))
    refusal = await deliver(session, post)
    if isinstance(refusal, Superseded):
        _still_open(task_id, question, await session.store.question(row.key, question))
        raise refusal
    if isinstance(refusal, Undelivered):
        raise NotAsked(task_id, question, f"the task has {refusal.status}")
    if refusal is not None:
        raise refusal


def _still_open(task_id: str, question: str, asked: Asked) -> bytes:
    """What is kept of a question that waits for its answer. Raises NotAsked, AlreadyAnswered."""
    row = asked.row
    if row is None or row.name != ASK:
        raise NotAsked(task_id, question, "it never was asked")
    if asked.answered:
        raise AlreadyAnswered(task_id, question, asked.by)
    if row.outcome is not None:
        raise NotAsked(task_id, question, "its time is over")
    if row.output is None:
        raise NotAsked(task_id, question, "it was taken back")
    return row.output


def _kind_of(question: str, kept: dict[str, Any]) -> Any:
    """The type of the answers. Raises BadCall where it is known to nobody here."""
    schema = kept["schema"]
    kind = Approval if "step" in kept else type_of(schema)
    if kind is None:
        name = str(schema.get("title", "?"))
        why = f"asks for a {name}, and no model of that name with its schema exists here"
        raise BadCall("question", question, why, f"an import of the module of {name} first")
    return kind


def _valid(
    session: Session, task_id: str, question: str, kind: Any, data: object, by: str | None
) -> bytes:
    where = f"the answer to {question}"
    try:
        return packed_answer(kind, data, by, where, session.environment.limits)
    except ValidationError as error:
        why = _YES_OR_NO if kind is Approval else first_problem(error)
        raise WrongAnswer(task_id, question, why) from error
