"""One durable wait that is under way, and what ends it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from ..storage.clock import Due
from ..storage.mail import Mail
from ..storage.records import StepRow
from . import rows
from .reminders import next_reminder
from .traffic import resolve

if TYPE_CHECKING:
    from .scope import Scope

__all__ = ["Answer", "Wait"]


class Answer(NamedTuple):
    """What ended a wait."""

    output: bytes
    taken: Mail | None = None
    """The message that it was."""
    error: bytes | None = None
    """Facts of a failure, where it was one; then there is no output."""


class Wait:
    """One wait that is under way: its row, if it has one, and who stands in it."""

    __slots__ = ("child", "due", "listens", "reminder", "row", "scope", "task", "woken")

    def __init__(
        self,
        scope: Scope,
        row: StepRow | None = None,
        *,
        listens: bool = False,
        child: str | None = None,
    ) -> None:
        """`listens`: a message may end it; so may the end of the task with the id `child`."""
        self.listens = listens
        self.child = child
        self.scope = scope
        self.row = row
        self.due = None if row is None else rows.due_of(row)
        self.reminder = next_reminder(row, scope.life.clock)
        self.task: asyncio.Task[Any] | None = None
        self.woken: asyncio.Future[None] | None = None

    @property
    def dues(self) -> list[Due]:
        """When something of it falls due: its end, a reminder."""
        return [due for due in (self.due, self.reminder) if due is not None]

    def wake(self) -> None:
        """Let who stands in it look whether it is over."""
        if self.woken is not None:
            resolve(self.woken)

    @property
    def is_open(self) -> bool:
        """Whether something else than the clock may end it."""
        return self.listens or self.child is not None
