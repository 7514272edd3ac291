"""Which lanes of a pool have queued tasks: found by skipping, never by going through the tasks."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from ..interface import LaneQueue, QueuePage
from .transaction import reading

__all__ = ["lanes"]

_ABOVE_ALL = 1 << 31
"""Above every priority that a task can have."""

# One seek to the next lane of the priority, or else one to the next priority, for each queue.
_AFTER = """
    WITH RECURSIVE head (place, key) AS (
        SELECT 1, coalesce(
            (
                SELECT key FROM task
                WHERE status = 'queued' AND pool = :pool AND priority = :priority AND lane > :lane
                ORDER BY lane, key LIMIT 1
            ),
            (
                SELECT key FROM task
                WHERE status = 'queued' AND pool = :pool AND priority < :priority
                ORDER BY priority DESC, lane, key LIMIT 1
            )
        )
        UNION ALL
        SELECT place + 1, coalesce(
            (
                SELECT next.key FROM task AS next
                WHERE next.status = 'queued' AND next.pool = :pool
                  AND next.priority = last.priority AND next.lane > coalesce(last.lane, '')
                ORDER BY next.lane, next.key LIMIT 1
            ),
            (
                SELECT next.key FROM task AS next
                WHERE next.status = 'queued' AND next.pool = :pool
                  AND next.priority < last.priority
                ORDER BY next.priority DESC, next.lane, next.key LIMIT 1
            )
        )
        FROM head JOIN task AS last ON last.key = head.key
        LIMIT :limit
    )
    SELECT first.priority, first.lane, first.key, (
        SELECT count(*) FROM (
            SELECT 1 FROM task AS one
            WHERE one.status = 'queued' AND one.pool = :pool
              AND one.priority = first.priority AND one.lane IS first.lane
            LIMIT :deep
        )
    )
    FROM head JOIN task AS first ON first.key = head.key
    ORDER BY place
"""


def lanes(
    connection: sqlite3.Connection,
    pool: str,
    below: int | None,
    turns: Mapping[int, str | None],
    limit: int,
    deep: int,
) -> QueuePage:
    """The queues of the highest priorities below `below`, as `Store.lanes` says."""
    look = _Look(connection, pool, deep)
    with reading(connection):
        (newest,) = connection.execute("SELECT coalesce(max(key), 0) FROM task").fetchone()
        start = _ABOVE_ALL if below is None else below
        return look.window(start, turns, limit, newest) or look.page(start, turns, limit, newest)


class _Look:
    """Reads within one transaction."""

    def __init__(self, connection: sqlite3.Connection, pool: str, deep: int) -> None:
        self._connection = connection
        self._asked = {"pool": pool, "deep": deep}

    def after(self, priority: int, lane: str | None, limit: int) -> list[LaneQueue]:
        """The queues after one of them; below the priority where that has no lane."""
        place = {"priority": priority, "lane": lane, "limit": limit}
        return [LaneQueue(*row) for row in self._connection.execute(_AFTER, self._asked | place)]

    def window(
        self, start: int, turns: Mapping[int, str | None], limit: int, newest: int
    ) -> QueuePage | None:
        """The lanes whose turn it is, where that many come after the last window at once."""
        for head in self.after(start, None, 1) if turns else ():
            turn = turns.get(head.priority)
            window = [] if turn is None else self._of(head.priority, turn, limit)
            if len(window) == limit:
                return QueuePage(window, newest, cut=True, last=False)
        return None

    def page(
        self, start: int, turns: Mapping[int, str | None], limit: int, newest: int
    ) -> QueuePage:
        """The priorities that fit whole; else lanes of the first, from its turn on and round."""
        found = self.after(start, None, limit + 1)
        if len(found) <= limit:
            return QueuePage(found, newest, cut=False, last=True)
        first, lowest = found[0].priority, found[-1].priority
        if first != lowest:
            whole = [queue for queue in found if queue.priority != lowest]
            return QueuePage(whole, newest, cut=False, last=False)
        turn = turns.get(first)
        rest = [] if turn is None else self._of(first, turn, limit)
        return QueuePage(rest + found[: limit - len(rest)], newest, cut=True, last=False)

    def _of(self, priority: int, after: str, limit: int) -> list[LaneQueue]:
        found = self.after(priority, after, limit)
        return [queue for queue in found if queue.priority == priority]
