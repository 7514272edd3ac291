"""Why a write was refused, read from the tables it was refused by."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from ..births import Births
from ..errors import LostLease, Refused, StaleAttempt, StaleIncarnation, Superseded, Undelivered
from ..mail import Mail, Post
from ..records import ENDED, ChildRow, Commit, EffectRow, Progress, Receipt, StepRow
from ..schedules import ScheduleChange
from .children import is_still_asked
from .queries import named
from .statements import Write

__all__ = ["diagnose"]


def diagnose(connection: sqlite3.Connection, write: Write, epoch: int, cause: Exception) -> Refused:
    """The refusal of `write`, whose statements raised `cause` and have been undone."""
    if isinstance(write, Births):
        return _of_births(connection, write)
    if isinstance(write, Receipt):
        return _of_receipt(connection, write, epoch)
    if isinstance(write, Post):
        return _of_post(connection, write)
    if isinstance(write, ScheduleChange):
        return Superseded(write.task_id, "it was changed meanwhile")
    refusal = (
        _of_task(connection, write, epoch)
        or _first(_of_step(connection, write.task_id, step) for step in write.steps)
        or _first(_of_effect(connection, write.task_id, effect) for effect in write.effects)
        or _first(_of_mail(connection, write.task_id, mail) for mail in write.takes)
        or _first(_of_child(connection, write.task_id, child) for child in write.starts)
        or _of_parent(connection, write)
    )
    return refusal or Superseded(write.task_id, f"its rows do not fit the stored ones: {cause!r}")


def _of_task(connection: sqlite3.Connection, commit: Commit, epoch: int) -> Refused | None:
    if commit.before is None:
        return _of_creation(connection, commit)
    row = connection.execute(
        f"SELECT {', '.join(Progress._fields)} FROM task WHERE key = ?", (commit.task,)
    ).fetchone()
    if row is None:
        return Superseded(commit.task_id, "the store holds no such task")
    return _of_progress(commit.task_id, commit.before, Progress._make(row), epoch)


def _of_progress(task_id: str, before: Progress, stored: Progress, epoch: int) -> Refused | None:
    """The first thing in which the stored progress is not the one the write went out from."""
    if stored.epoch is not None and stored.epoch != epoch:
        return LostLease(task_id, f"epoch {stored.epoch} owns the task, this is epoch {epoch}")
    if stored.incarnation > before.incarnation:
        return StaleIncarnation(
            task_id, f"incarnation {stored.incarnation} began, this is {before.incarnation}"
        )
    if stored.status in ENDED and before.status not in ENDED:
        return Superseded(task_id, f"the task has ended: {stored.status}")
    for name in ("generation", "status", "epoch", "incarnation", "seq", "event_seq"):
        there, here = getattr(stored, name), getattr(before, name)
        if there != here:
            return Superseded(task_id, f"its {name} is {there} in the store, the write has {here}")
    return None


def _of_creation(connection: sqlite3.Connection, commit: Commit) -> Refused | None:
    found = connection.execute(
        "SELECT key FROM task WHERE id = ? OR key = ?", (commit.task_id, commit.task)
    ).fetchone()
    return None if found is None else Superseded(commit.task_id, "the id exists")


def _of_births(connection: sqlite3.Connection, births: Births) -> Refused:
    found = named(connection, [task.new.id for task in births.tasks])
    if found:
        return Superseded(found[0].id, "the id exists")
    return Superseded(births.task_id, "two of those that are to begin with it are one")


def _of_step(connection: sqlite3.Connection, task_id: str, step: StepRow) -> Refused | None:
    row = connection.execute(
        "SELECT outcome, serial FROM step WHERE task = ? AND identity = ?",
        (step.task, step.identity),
    ).fetchone()
    if row is None:
        return None
    outcome, serial = row
    if outcome is not None:
        return Superseded(task_id, f"the step {step.identity!r} has an outcome: {outcome}")
    if serial > step.serial:
        return StaleAttempt(
            task_id, f"attempt {serial} of the step {step.identity!r} began, this is {step.serial}"
        )
    return None


def _of_effect(connection: sqlite3.Connection, task_id: str, effect: EffectRow) -> Refused | None:
    row = connection.execute(
        "SELECT task, state FROM effect WHERE operation = ?", (effect.operation,)
    ).fetchone()
    if row is None:
        return None
    owner, state = row
    if owner != effect.task:
        return Superseded(task_id, f"the operation {effect.operation!r} is another task's")
    if state == "receipt":
        return Superseded(task_id, f"the effect {effect.key!r} is decided: {state}")
    return None


def _of_mail(connection: sqlite3.Connection, task_id: str, mail: Mail) -> Refused | None:
    row = connection.execute(
        "SELECT taken FROM message WHERE position = ?", (mail.position,)
    ).fetchone()
    if row is not None and row[0] is None:
        return None
    return Superseded(task_id, f"the message {mail.id!r} is taken")


def _of_child(connection: sqlite3.Connection, task_id: str, child: ChildRow) -> Refused | None:
    found = connection.execute("SELECT 1 FROM task WHERE id = ?", (child.new.id,)).fetchone()
    return None if found is None else Superseded(task_id, f"its child {child.new.id!r} exists")


def _of_parent(connection: sqlite3.Connection, commit: Commit) -> Refused | None:
    if commit.follows is None or is_still_asked(connection, commit):
        return None
    return Superseded(commit.task_id, f"its parent does not ask it to {commit.follows} any more")


def _of_post(connection: sqlite3.Connection, post: Post) -> Refused:
    row = connection.execute("SELECT status FROM task WHERE key = ?", (post.task,)).fetchone()
    if row is None:
        return Superseded(post.task_id, "the store holds no such task")
    if post.question is not None and row[0] not in ENDED:
        return Superseded(post.task_id, f"the question {post.question!r} is not open any more")
    return Undelivered(post.task_id, row[0] if row[0] in ENDED else None)


def _of_receipt(connection: sqlite3.Connection, receipt: Receipt, epoch: int) -> Refused:
    effect = receipt.effect
    row = connection.execute(
        "SELECT state, epoch FROM effect WHERE operation = ?", (effect.operation,)
    ).fetchone()
    if row is None:
        return Superseded(receipt.task_id, f"the effect {effect.key!r} has no intent")
    state, owner = row
    if state != "intent":
        return Superseded(receipt.task_id, f"the effect {effect.key!r} is decided: {state}")
    return LostLease(receipt.task_id, f"its intent came from epoch {owner}, this is epoch {epoch}")


def _first(refusals: Iterable[Refused | None]) -> Refused | None:
    return next((refusal for refusal in refusals if refusal is not None), None)
