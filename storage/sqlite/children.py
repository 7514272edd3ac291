"""Children: how they wake their parent, and are found when they are to follow it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping

from ..kin import BEGINNING, PARENT_PAUSED, Asks, Place, Straggler, asks_of
from ..records import ENDED, Commit, Status
from .fragments import listed, quoted
from .transaction import reading

__all__ = ["MARK", "UNMARK", "concerns_family", "family", "ids", "is_still_asked",
           "stragglers", "wake_unless_waiting"]  # fmt: skip

# --- following the parent -----------------------------------------------------------------------

_OPEN = frozenset(Status) - ENDED
_FOLLOWS = ("follow",)
_LAGGING: Mapping[Asks, tuple[Collection[str], Collection[Status]]] = {
    Asks.GO_ON: (_FOLLOWS, {Status.PAUSED}),
    Asks.PAUSE: (_FOLLOWS, _OPEN - {Status.PAUSED}),
    Asks.END: (("cancel", "follow"), _OPEN),
}
"""By what it is bound to its parent, and where it stands, a child has yet to do what is asked."""
_PARTS = {
    asks: [(way, status) for way in ways for status in Status if status in statuses]
    for asks, (ways, statuses) in _LAGGING.items()
}
"""The same, part by part: each is one range of an index, in the order of the keys."""
_IS_MEANT = {Asks.GO_ON: f"child.reason = '{PARENT_PAUSED}'"}
"""Who was paused by somebody else stays paused."""
_LAGS = {
    asks: f"""
        child.on_parent IN ({quoted(ways)}) AND child.status IN ({quoted(statuses)})
        AND {_IS_MEANT.get(asks, "TRUE")}
    """
    for asks, (ways, statuses) in _LAGGING.items()
}
_WHERE = {
    asks: f"parent.status IN ({quoted([one for one in Status if asks_of(one) is asks])})"
    for asks in Asks
}


def _some(asks: Asks) -> str:
    return f"EXISTS (SELECT 1 FROM task AS child WHERE child.parent = parent.key AND {_LAGS[asks]})"


MARK = {
    asks: f"UPDATE task AS parent SET trailed = {_some(asks)} WHERE parent.key = ?" for asks in Asks
}
UNMARK = f"""
    UPDATE task AS parent SET trailed = 0
    WHERE parent.key = ? AND parent.trailed = 1
      AND NOT ({" OR ".join(f"{_WHERE[asks]} AND {_some(asks)}" for asks in Asks)})
"""
_MARK_LATE = f"UPDATE task AS parent SET trailed = 1 WHERE key = ? AND {_WHERE[Asks.GO_ON]}"
"""A child was paused with its parent, which goes on again by now."""
_STRAGGLERS = {
    asks: f"""
        SELECT parent.key, child.key, child.id, parent.id, parent.status
        FROM task AS parent CROSS JOIN task AS child ON child.parent = parent.key
        WHERE parent.trailed = 1 AND parent.key >= :parent AND {_WHERE[asks]}
          AND child.on_parent = :way AND child.status = :status AND {_IS_MEANT.get(asks, "TRUE")}
          AND child.key > CASE parent.key WHEN :parent THEN :child ELSE 0 END
        ORDER BY parent.key, child.key LIMIT :limit
    """
    for asks in Asks
}


def stragglers(
    connection: sqlite3.Connection, asks: Asks, after: Place, limit: int
) -> list[tuple[Place, Straggler]]:
    """Children that have not done yet what their parents ask, from a place on.

    All parts are read at one moment: who goes over from one to another is in one of them.
    """
    found: list[tuple[Place, Straggler]] = []
    with reading(connection):
        for part in range(after.part, len(_PARTS[asks])):
            begin = after if part == after.part else BEGINNING
            found += _in_part(connection, asks, begin._replace(part=part), limit - len(found))
            if len(found) == limit:
                break
    return found


def _in_part(
    connection: sqlite3.Connection, asks: Asks, after: Place, limit: int
) -> list[tuple[Place, Straggler]]:
    way, status = _PARTS[asks][after.part]
    wanted = {"way": way, "status": status, "limit": limit, **after._asdict()}
    return [
        (Place(after.part, parent, child), Straggler(child_id, parent_id, Status(its_status)))
        for parent, child, child_id, parent_id, its_status in connection.execute(
            _STRAGGLERS[asks], wanted
        )
    ]


# --- in commits ---------------------------------------------------------------------------------

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
          AND child.status IN ({quoted(ENDED)})
      )
"""
_TELL = """
    INSERT INTO event (task, seq, at, kind)
    SELECT key, event_seq, :at, 'task_woken' FROM task WHERE key = :parent
"""


def concerns_family(commit: Commit) -> bool:
    """Whether a commit ends a task or opens an ended one, or asks something else of its family."""
    if commit.before is None or commit.before.status is commit.after.status:
        return False
    before, after = commit.before.status, commit.after.status
    ends_or_opens = (before in ENDED) != (after in ENDED)
    return asks_of(before) is not asks_of(after) or (ends_or_opens and commit.parent is not None)


def family(connection: sqlite3.Connection, commit: Commit) -> None:
    """Mark a task whose children are to follow it now; say to its own parent what became of it."""
    status = commit.after.status
    if commit.before is None or asks_of(commit.before.status) is not asks_of(status):
        connection.execute(MARK[asks_of(status)], (commit.task,))
    if commit.parent is None:
        return
    connection.execute(UNMARK, (commit.parent,))
    if status is Status.PAUSED and commit.after.reason == PARENT_PAUSED:
        connection.execute(_MARK_LATE, (commit.parent,))
    if status in ENDED:
        asked = {"at": commit.after.updated_at, "parent": commit.parent, "child": commit.task_id}
        _wake(connection, _AWAITS_CHILD, asked)


def is_still_asked(connection: sqlite3.Connection, commit: Commit) -> bool:
    """Whether the parent of a child that is brought after it still asks for that."""
    row = connection.execute("SELECT status FROM task WHERE key = ?", (commit.parent,)).fetchone()
    return row is not None and asks_of(Status(row[0])) is commit.follows


def wake_unless_waiting(connection: sqlite3.Connection, commit: Commit) -> None:
    """Queue a task that is leaving memory, where a child that it waits for has ended."""
    children = listed(commit.awaits)
    asked = {"at": commit.after.updated_at, "parent": commit.task, "children": children}
    _wake(connection, _CHILD_HAS_ENDED, asked)


def _wake(connection: sqlite3.Connection, condition: str, asked: Mapping[str, object]) -> None:
    if connection.execute(_QUEUE + condition, asked).rowcount:
        connection.execute(_TELL, {"at": asked["at"], "parent": asked["parent"]})


def ids(connection: sqlite3.Connection, keys: Collection[int]) -> dict[int, str]:
    """The ids of the tasks that have these keys."""
    rows = connection.execute(
        "SELECT key, id FROM task WHERE key IN (SELECT value FROM json_each(?))",
        (listed(keys),),
    )
    return dict(rows.fetchall())
