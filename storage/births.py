"""Tasks that are started many at a time."""

from __future__ import annotations

from .record import record
from .records import ChildRow

__all__ = ["Births"]


@record
class Births:
    """New tasks, at least one: all of them are created, or none where an id exists."""

    tasks: tuple[ChildRow, ...]
    size: int = 0

    @property
    def task_id(self) -> str:
        """The id of the first of them."""
        return self.tasks[0].new.id
