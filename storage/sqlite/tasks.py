"""The statements that write the rows of tasks.

To bind a None or an enum costs sqlite3 several times what a number or a string costs, and a column
that is written rewrites the indexes that it is in. So a new row is written without what it does not
have, and of one that is there only what changes.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import compress, repeat
from operator import is_not
from typing import Any

from ..records import Commit, NewTask, Progress
from .fragments import insert

__all__ = ["task_write"]


def task_write(commit: Commit) -> tuple[str, list[Any]]:
    """The statement that writes the task's row, and its parameters."""
    before, after = commit.before, commit.after
    if before is not None:
        changed = tuple(map(is_not, before, after))
        owner = before.epoch, before.incarnation, before.generation, str(before.status)
        fence = commit.task, *owner, before.seq, before.event_seq
        return _update(changed), [*compress(after, changed), *fence]
    if commit.new is None:
        raise ValueError(f"a commit of {commit.task_id!r} has neither `before` nor `new`")
    row = commit.new + after
    present = tuple(map(is_not, row, repeat(None)))
    return _insert(present), list(compress(row, present))


@lru_cache(maxsize=100)
def _insert(present: tuple[bool, ...]) -> str:
    fields = list(compress(NewTask._fields + Progress._fields, present))
    return f"{insert('task', fields)} ON CONFLICT (id) DO NOTHING"


@lru_cache(maxsize=100)
def _update(changed: tuple[bool, ...]) -> str:
    changes = ", ".join(f"{field} = ?" for field in compress(Progress._fields, changed))
    return f"""
        UPDATE task SET {changes or "key = key"}
        WHERE key = ? AND epoch IS ? AND incarnation = ? AND generation = ?
          AND status = ? AND seq = ? AND event_seq = ?
    """
