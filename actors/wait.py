"""One durable wait that is under way, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..storage.clock import Due, left_of
from ..storage.mail import Mail
from ..storage.records import StepRow
from . import rows
from .reminders import next_reminder
from .traffic import resolve

if TYPE_CHECKING:
    from .scope import Call, Scope

__all__ = ["Answer", "Wait", "under_way"]


class Answer(NamedTuple):
    """What ended a wait."""

    output: bytes
    taken: Mail | None = None
    """The message that it was."""
    error: bytes | None = None
    """Facts of a failure, where it was one; then the output is not kept."""


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

    @property
    def is_over(self) -> bool:
        """Whether its time is over."""
        return self.due is not None and left_of(self.scope.life.clock, self.due) <= 0

    def wake(self) -> None:
        """Let who stands in it look whether it is over."""
        if self.woken is not None:
            resolve(self.woken)

    @property
    def is_open(self) -> bool:
        """Whether something else than the clock may end it."""
        return self.listens or self.child is not None

    def lasts(self, seconds: float) -> bool:
        """Whether it is known already that it does not end within these seconds."""
        due = self.due
        return (
            due is not None and not self.is_open and left_of(self.scope.life.clock, due) > seconds
        )


@contextmanager
def under_way(call: Call) -> Generator[None]:
    """A call that waits is under way: no record has answered it, so what follows is live."""
    life = call.scope.life
    call.takes_off()
    try:
        life.go_live()
        yield
    finally:
        call.has_landed()
