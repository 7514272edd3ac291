"""Streams: how pieces get their offsets, and how they are read from one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from ..pieces import Chunk, ChunkRow

__all__ = ["append", "chunks"]

_FIELDS = ", ".join(ChunkRow._fields)
_COLUMNS = ", ".join(Chunk._fields)
_VALUES = ", ".join(f":{field}" for field in ChunkRow._fields)

# The offsets are given here and not by the owner of the task, so a life need not read them first.
_APPEND = f"""
    INSERT INTO chunk (last, {_FIELDS})
    SELECT :length + coalesce(max(last), 0), {_VALUES}
    FROM chunk WHERE task = :task AND stream = :stream
"""


def append(connection: sqlite3.Connection, rows: Iterable[ChunkRow]) -> None:
    """Add pieces to the ends of their streams, in the open transaction."""
    connection.executemany(_APPEND, [row._asdict() for row in rows])


def chunks(
    connection: sqlite3.Connection, key: int, stream: str, after: int, limit: int
) -> list[Chunk]:
    """Pieces of a stream of a task, from the chunk on in which the offset `after` + 1 is."""
    rows = connection.execute(
        f"""
        SELECT {_COLUMNS} FROM chunk
        WHERE task = ? AND stream = ? AND last > ? ORDER BY last LIMIT ?
        """,
        (key, stream, after, limit),
    )
    return [Chunk(*row) for row in rows]
