"""Taking over a store: whoever opens it raises its epoch before anything else."""

from __future__ import annotations

import os
import socket
import sqlite3
from typing import NamedTuple

from everstep.storage.clock import Clock

__all__ = ["Opening", "take_over"]


class Opening(NamedTuple):
    """What a store starts from."""

    epoch: int
    next_key: int


def take_over(connection: sqlite3.Connection, clock: Clock) -> Opening:
    """Raise the epoch and become its owner, in one transaction.

    When the machine has been booted since, seconds since boot mean nothing any more and are
    forgotten in the same transaction.
    """
    boot, _ = clock.boot()
    connection.execute("BEGIN IMMEDIATE")
    try:
        epoch, known_boot = connection.execute("SELECT epoch + 1, boot FROM node").fetchone()
        connection.execute(
            "UPDATE node SET epoch = ?, pid = ?, host = ?, boot = ?, started_at = ?, batch = 0",
            (epoch, os.getpid(), socket.gethostname(), boot, clock.now()),
        )
        if boot != known_boot or not boot:
            connection.execute("UPDATE task SET due_boot = NULL WHERE due_boot IS NOT NULL")
            connection.execute("UPDATE step SET due_boot = NULL WHERE due_boot IS NOT NULL")
        (next_key,) = connection.execute("SELECT coalesce(max(key), 0) + 1 FROM task").fetchone()
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return Opening(epoch, next_key)
