"""What a server needs no more: what it has handled long ago."""

from __future__ import annotations

import sqlite3

__all__ = ["forget"]

# A step below another one is found again for as long as that one is open. What was appended to a
# Log is kept nowhere else than in the rows of the steps that did it.
_FORGET_STEPS = """
    DELETE FROM step
    WHERE task = :task AND seq <= :upto
      AND CASE
            WHEN above = '' THEN appends IS NULL
            ELSE NOT EXISTS (
                SELECT 1 FROM step AS top
                WHERE top.task = :task AND top.outcome IS NULL
                  AND top.identity = substr(step.identity, 1, instr(step.identity, '/') - 1)
            )
          END
"""
_FORGET_EFFECTS = """
    DELETE FROM effect
    WHERE task = :task AND state <> 'intent'
      AND NOT EXISTS (
        SELECT 1 FROM step AS top
        WHERE top.task = :task AND top.outcome IS NULL
          AND top.identity = substr(effect.step, 1, instr(effect.step || '/', '/') - 1)
      )
"""
_FORGET_MESSAGES = """
    DELETE FROM message
    WHERE task = :task AND taken IS NOT NULL AND position <= (
        SELECT position FROM message WHERE task = :task AND taken IS NOT NULL
        ORDER BY position DESC LIMIT 1 OFFSET :keeps
    )
"""
# Of each stream the newest chunk stays too: it knows which offset comes next.
_FORGET_PIECES = """
    DELETE FROM chunk
    WHERE task = :task
      AND position <= (
        SELECT position FROM chunk WHERE task = :task
        ORDER BY position DESC LIMIT 1 OFFSET :keeps
      )
      AND last < (
        SELECT max(newest.last) FROM chunk AS newest
        WHERE newest.task = :task AND newest.stream = chunk.stream
      )
"""


def forget(connection: sqlite3.Connection, task: int, upto: int, keeps: int) -> None:
    """Delete what a server finished up to the number of a snapshot, in the open transaction.

    Of the messages that it has taken, the newest `keeps` stay, with what was replied; of the
    pieces that its steps wrote, as many chunks.
    """
    named = {"task": task, "upto": upto, "keeps": keeps}
    for statement in (_FORGET_STEPS, _FORGET_EFFECTS, _FORGET_MESSAGES, _FORGET_PIECES):
        connection.execute(statement, named)
