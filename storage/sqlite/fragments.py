"""Parts of statements that several modules write."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

__all__ = ["insert", "listed", "quoted"]


def insert(table: str, fields: Collection[str]) -> str:
    """The statement that inserts a row, or the beginning of one that says what of a conflict."""
    return f"INSERT INTO {table} ({', '.join(fields)}) VALUES ({', '.join('?' * len(fields))})"


def quoted(words: Iterable[str]) -> str:
    """Words of our own, such as statuses, for a condition that an index has too."""
    return ", ".join(f"'{word}'" for word in sorted(words))


def listed(values: Iterable[object]) -> str:
    """Values as one parameter, for `json_each`: however many they are."""
    return json.dumps(list(values))
