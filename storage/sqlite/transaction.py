"""Transactions: of one who writes, and of one who reads several times."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["reading", "transaction"]


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """One transaction that takes the lock for writing at once; undone by any error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def reading(connection: sqlite3.Connection) -> Generator[None]:
    """One transaction that reads: all in it see the store at one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")
