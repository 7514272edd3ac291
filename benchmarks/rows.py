"""One row of the table: what everstep took, and what stood beside it in the same run."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

__all__ = ["Row", "Side"]


@dataclass(frozen=True, slots=True)
class Side:
    """What one side took."""

    name: str
    durability: str
    """What survives what: "power cut", "SIGKILL", "none"."""
    values: tuple[float, ...]
    """One for each repetition."""

    @property
    def median(self) -> float:
        return statistics.median(self.values)


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
