"""What happened in the world outside, and when: a record that no death can take back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from ..storage.record import record

__all__ = ["Entry", "FileTrail", "MemoryTrail", "Trail"]


@record
class Entry:
    """One thing that happened.

    `kind` is `fact` (user code noted something), `boundary` (a moment at which a life may end
    was passed), or `durable` (an event of a task is in the store from here on).
    """

    life: int
    kind: str
    name: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def says(self, name: str, facts: Mapping[str, Any]) -> bool:
        """Whether it is a fact of this name, and these are among what it says."""
        return (
            self.kind == "fact"
            and self.name == name
            and all(self.facts.get(key) == value for key, value in facts.items())
        )

    def __str__(self) -> str:
        facts = " ".join(f"{name}={value}" for name, value in self.facts.items())
        return f"life {self.life} {self.kind:8} {self.name} {facts}".rstrip()


class Trail(Protocol):
    """Where entries are kept, in the order in which they happened."""

    def append(self, entry: Entry) -> None: ...

    def __iter__(self) -> Iterator[Entry]: ...


class MemoryTrail:
    """Entries in a list: for lives that only pretend to end."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def append(self, entry: Entry) -> None:
        self._entries.append(entry)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)


class FileTrail:
    """Entries in a file, one line each. A line is there once `append` has returned."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, entry: Entry) -> None:
        line = json.dumps([entry.life, entry.kind, entry.name, dict(entry.facts)], default=str)
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line.encode() + b"\n")
        finally:
            os.close(file)

    def __iter__(self) -> Iterator[Entry]:
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                yield Entry(*json.loads(line))
