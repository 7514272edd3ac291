"""Children: how they are started, wake their parent, and are found when that ends without them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from ..interface import LeftBehind
from ..records import ENDED, ChildRow, Commit, EventRow, NewTask, Progress, SnapshotRow, Status

__all__ = ["ends_or_opens", "family", "ids", "left_behind", "start", "wake_unless_waiting"]

_TASK = NewTask._fields + Progress._fields
_STATUSES = ", ".join(f"'{status}'" for status in sorted(ENDED))
_WITHOUT_SUCCESS = frozenset({Status.FAILED, Status.CANCELLED})


def _insert(table: str, fields: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(fields)}) VALUES ({', '.join('?' * len(fields))})"


_INSERT_TASK = _insert("task", _TASK)
_INSERT_SNAPSHOT = _insert("snapshot", SnapshotRow._fields)
_INSERT_EVENT = _insert("event", EventRow._fields)

_OPEN_CHILD = f"""
    SELECT 1 FROM task AS child
    WHERE child.parent = task.key AND child.stays = 0 AND child.status NOT IN ({_STATUSES})
"""

_QUEUE = """
    UPDATE task
    SET status = 'queued', event_seq = event_seq + 1, updated_at = max(updated_at, :at),
        due_at = NULL, due_boot = NULL, due_delay = NULL, listens = 0
    WHERE key = :parent AND status = 'waiting' AND epoch IS NULL
"""
_AWAITS_CHILD = """
      AND EXISTS (
        SELECT 1 FROM step
        WHERE task = :parent AND key = :child
          AND name = 'ctx.result' AND outcome IS NULL AND output IS NOT NULL
      )
"""
_CHILD_HAS_ENDED = f"""
      AND EXISTS (
        SELECT 1 FROM task AS child
        WHERE child.id IN (SELECT value FROM json_each(:children))
          AND child.status IN ({_STATUSES})
      )
"""
_TELL = """
    INSERT INTO event (task, seq, at, kind)
    SELECT key, event_seq, :at, 'task_woken' FROM task WHERE key = :parent
"""


def start(connection: sqlite3.Connection, child: ChildRow) -> None:
    """Create a child. Raises IntegrityError where a task of its id exists."""
    connection.execute(_INSERT_TASK, child.new + child.progress)
    connection.execute(_INSERT_SNAPSHOT, child.first)
    connection.execute(_INSERT_EVENT, child.event)


def ends_or_opens(commit: Commit) -> bool:
    """Whether a commit ends a task or opens an ended one, and so may concern its family."""
    before = commit.before
    if before is None or (commit.after.status in ENDED) == (before.status in ENDED):
        return False
    return commit.parent is not None or commit.after.status is not Status.SUCCEEDED


def family(connection: sqlite3.Connection, commit: Commit) -> None:
    """What the end of a task means to its parent, and its end or new beginning to its children."""
    status = commit.after.status
    if status in _WITHOUT_SUCCESS:
        connection.execute(
            f"UPDATE task SET bereft = 1 WHERE key = ? AND EXISTS ({_OPEN_CHILD})", (commit.task,)
        )
    elif status not in ENDED:
        connection.execute("UPDATE task SET bereft = 0 WHERE key = ?", (commit.task,))
        return
    if commit.parent is not None:
        _tell_parent(connection, commit, commit.parent)


def _tell_parent(connection: sqlite3.Connection, commit: Commit, parent: int) -> None:
    connection.execute(
        f"UPDATE task SET bereft = 0 WHERE key = ? AND bereft = 1 AND NOT EXISTS ({_OPEN_CHILD})",
        (parent,),
    )
    at = commit.after.updated_at
    asked = {"at": at, "parent": parent, "child": commit.task_id}
    if connection.execute(_QUEUE + _AWAITS_CHILD, asked).rowcount:
        connection.execute(_TELL, {"at": at, "parent": parent})


def wake_unless_waiting(connection: sqlite3.Connection, commit: Commit) -> None:
    """Queue a task that is leaving memory, where a child that it waits for has ended."""
    at = commit.after.updated_at
    asked = {"at": at, "parent": commit.task, "children": json.dumps(commit.awaits)}
    if connection.execute(_QUEUE + _CHILD_HAS_ENDED, asked).rowcount:
        connection.execute(_TELL, {"at": at, "parent": commit.task})


def ids(connection: sqlite3.Connection, keys: Collection[int]) -> dict[int, str]:
    """The ids of the tasks that have these keys."""
    rows = connection.execute(
        "SELECT key, id FROM task WHERE key IN (SELECT value FROM json_each(?))",
        (json.dumps(list(keys)),),
    )
    return dict(rows.fetchall())


def left_behind(connection: sqlite3.Connection, limit: int) -> list[LeftBehind]:
    """Children that are to be cancelled, of parents that are marked, some of them."""
    rows = connection.execute(
        f"""
        SELECT child.id, parent.id, parent.status
        FROM task AS parent JOIN task AS child ON child.parent = parent.key
        WHERE parent.bereft = 1 AND child.parent IS NOT NULL
          AND child.stays = 0 AND child.status NOT IN ({_STATUSES})
        LIMIT ?
        """,
        (limit,),
    )
    return [LeftBehind(child, parent, Status(status)) for child, parent, status in rows]
