"""Which lanes of a pool have queued tasks: found by skipping, never by going through the tasks."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from ..interface import LaneQueue, QueuePage

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
    start = _ABOVE_ALL if below is None else below

    def after(priority: int, lane: str | None, limit: int) -> list[LaneQueue]:
        asked = {"pool": pool, "priority": priority, "lane": lane, "limit": limit, "deep": deep}
        return [LaneQueue(*row) for row in connection.execute(_AFTER, asked)]

    connection.execute("BEGIN")
    try:
        (newest,) = connection.execute("SELECT coalesce(max(key), 0) FROM task").fetchone()
        found = after(start, None, limit + 1)
        if len(found) <= limit:
            return QueuePage(found, newest, cut=False, last=True)
        first, lowest = found[0].priority, found[-1].priority
        if first != lowest:
            whole = [queue for queue in found if queue.priority != lowest]
            return QueuePage(whole, newest, cut=False, last=False)
        window: list[LaneQueue] = []
        if (turn := turns.get(first)) is not None:
            window = [queue for queue in after(first, turn, limit) if queue.priority == first]
        return QueuePage(window + found[: limit - len(window)], newest, cut=True, last=False)
    finally:
        connection.execute("COMMIT")
