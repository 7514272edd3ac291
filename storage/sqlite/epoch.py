"""Taking over a store: whoever opens it raises its epoch, then leaves the shape of its tree."""

from __future__ import annotations

import logging
import os
import socket
import sqlite3
from typing import NamedTuple

from ..clock import Clock
from .transaction import transaction

__all__ = ["Opening", "leave_tree", "take_over"]

_LOG = logging.getLogger("everstep")

_FORGET_BOOT = """
    UPDATE {table} SET due_boot = NULL, due_at = min(due_at, ? + coalesce(due_delay, 0))
    WHERE due_at IS NOT NULL
"""
# Revisions of schedules are drawn from the same numbers: one of the store never comes again.
_NEXT_KEY = """
    SELECT 1 + max(
        coalesce((SELECT max(key) FROM task), 0), coalesce((SELECT max(revision) FROM schedule), 0)
    )
"""


class Opening(NamedTuple):
    """What a store starts from."""

    epoch: int
    next_key: int


def take_over(connection: sqlite3.Connection, clock: Clock) -> Opening:
    """Raise the epoch and become its owner, in one transaction.

    When the machine has been booted since, seconds since boot mean nothing any more: in the same
    transaction they are forgotten, and an instant that lies further ahead than the delay that was
    chosen, because the wall clock was set back, is brought in to that.
    """
    boot, _ = clock.boot()
    with transaction(connection):
        epoch, known_boot = connection.execute("SELECT epoch + 1, boot FROM node").fetchone()
        connection.execute(
            "UPDATE node SET epoch = ?, pid = ?, host = ?, boot = ?, started_at = ?, batch = 0",
            (epoch, os.getpid(), socket.gethostname(), boot, clock.now()),
        )
        if boot != known_boot or not boot:
            for table in ("task", "step"):
                connection.execute(_FORGET_BOOT.format(table=table), (clock.now(),))
        (next_key,) = connection.execute(_NEXT_KEY).fetchone()
    return Opening(epoch, next_key)


def leave_tree(connection: sqlite3.Connection, clock: Clock, opening: Opening, tree: str) -> None:
    """Keep the shape of the new owner's tree in place of the last one, in one transaction.

    For people only: where it cannot be written, the last one stays, and a warning is logged.
    """
    try:
        connection.execute(
            """
            INSERT INTO tree VALUES (1, ?, ?, ?)
            ON CONFLICT (only) DO UPDATE
            SET epoch = excluded.epoch, at = excluded.at, outline = excluded.outline
            """,
            (opening.epoch, clock.now(), tree),
        )
    except sqlite3.Error as error:
        _LOG.warning(
            "the shape of the tree was not kept, which only `everstep tree` reads: %s", error
        )
