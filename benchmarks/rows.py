"""One row of the table: what everstep took, and what stood beside it in the same run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "NONE",
    "POWER_CUT",
    "SIGKILL",
    "Point",
    "Row",
    "Side",
    "Unmeasured",
    "percentile",
    "together",
]

POWER_CUT, SIGKILL, NONE = "power cut", "SIGKILL", "none"
"""What all that was acknowledged survives: the words of `Side.durability`."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one side took."""

    name: str
    durability: str
    """What all that it acknowledged survives: POWER_CUT, SIGKILL or NONE."""
    values: tuple[float, ...]
    """One for each repetition."""

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass(frozen=True, slots=True)
class Point:
    """Where a row stands in a picture; rows of the same picture make a curve for each side."""

    picture: str
    """Name of the picture, and of its file."""
    along: str
    """What grows to the right."""
    at: float


@dataclass(frozen=True, slots=True)
class Row:
    """A thing that was measured. All its sides are in the same unit, and were interleaved."""

    what: str
    unit: str
    ours: Side
    beside: tuple[Side, ...] = ()
    aim: str = ""
    """What was aimed at, in words; reported, never a gate."""
    met: bool | None = None
    """None where there was nothing to compare with."""
    point: Point | None = None

    def ratio(self, side: Side) -> float:
        """Our median to that of a side; not a number if that is zero."""
        return self.ours.median / side.median if side.median else math.nan


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A thing that was to be measured, and could not be."""

    what: str
    why: str


def percentile(values: Sequence[float], percent: int) -> float:
    """The least of the values that is not exceeded by so many percent of them."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def together(tasks: int) -> str:
    """How the rows name so many tasks at once."""
    return f"{tasks:,} tasks at once" if tasks > 1 else "one task at a time"
