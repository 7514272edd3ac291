"""What the state of a task asks of its children, where they are to follow it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from .records import Status

__all__ = ["BEGINNING", "PARENT_PAUSED", "Asks", "Place", "Straggler", "asks_of"]

PARENT_PAUSED = "parent_paused"
"""The reason of a task that is paused because its parent is."""


class Asks(StrEnum):
    """What a parent asks of its children."""

    GO_ON = "go on"
    PAUSE = "pause"
    END = "end"


_ASKS = {Status.PAUSED: Asks.PAUSE, Status.FAILED: Asks.END, Status.CANCELLED: Asks.END}


def asks_of(status: Status) -> Asks:
    """What a task of this status asks; one that succeeded leaves its children to themselves."""
    return _ASKS.get(status, Asks.GO_ON)


class Place(NamedTuple):
    """Where a child stands among all that lag behind what one thing asks of them."""

    part: int
    """By what it has been doing, and by how it is to follow its parent."""
    parent: int
    """A key, as is the next."""
    child: int


BEGINNING = Place(0, 0, 0)


class Straggler(NamedTuple):
    """A task that has not done yet what its parent asks of it."""

    id: str
    parent: str
    status: Status
    """That of the parent."""
