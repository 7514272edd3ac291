"""All that one run of the instrument found, as a table for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from .rows import Row, Side, Unmeasured

__all__ = ["Report", "as_text", "read", "write"]


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured, on what, and what could not be."""

    machine: dict[str, str | int | float]
    seconds: float
    rows: tuple[Row, ...]
    unmeasured: tuple[Unmeasured, ...] = ()


_REPORT = TypeAdapter(Report)
_JSON = TypeAdapter[dict[str, Any]](dict[str, Any])


def write(report: Report, file: Path) -> None:
    """Write every repetition of every side, and what the table makes of them."""
    rows = [_with_medians(row) for row in report.rows]
    file.write_bytes(_JSON.dump_json(asdict(report) | {"rows": rows}, indent=1) + b"\n")


def read(file: Path) -> Report:
    """What `write` has written. Raises ValidationError if it is something else."""
    return _REPORT.validate_json(file.read_bytes())


def _with_medians(row: Row) -> dict[str, Any]:
    beside = [_with_median(side) | {"ratio": row.ratio(side)} for side in row.beside]
    return asdict(row) | {"ours": _with_median(row.ours), "beside": beside}


def _with_median(side: Side) -> dict[str, Any]:
    return asdict(side) | {"median": side.median}


_HEAD = ("what", "unit", "everstep", "survives", "beside", "", "survives", "ratio", "aim", "met?")
_MET = {True: "yes", False: "no", None: ""}
_NOTE = """
median (least-most) of the repetitions, all sides of a row interleaved in the same run; ratio: the
median of everstep to that of what stands beside it; survives: what leaves all that was acknowledged
in place ("power cut" on a disk that honours its flushes, "SIGKILL" of the process, or nothing).
"""


def as_text(report: Report) -> str:
    """The table, and around it what one must know to read it."""
    facts = "; ".join(f"{name}: {value}" for name, value in report.machine.items())
    lines = [line for row in report.rows for line in _lines(row)]
    lines += [(found.what, "", "not measured", "", found.why, *[""] * 5) for found in
              report.unmeasured]  # fmt: skip
    ended = f"measured in {report.seconds:.0f} s"
    return "\n".join([facts, "", _table([_HEAD, *lines]), _NOTE, ended])


def _lines(row: Row) -> list[tuple[str, ...]]:
    """A line for each baseline, or one where there is none."""
    ours = (row.what, row.unit, _spread(row.ours), row.ours.durability)
    beside = [
        (side.name, _spread(side), side.durability, _number(row.ratio(side))) for side in row.beside
    ] or [("", "", "", "")]
    first = (*ours, *beside[0], row.aim, _MET[row.met])
    return [first, *(("", "", "", "", *side, "", "") for side in beside[1:])]


def _spread(side: Side) -> str:
    if len(side.values) == 1:
        return _number(side.median)
    least, most = _number(min(side.values)), _number(max(side.values))
    return f"{_number(side.median)} ({least}-{most})"


def _number(value: float) -> str:
    """Three digits or so, and all of those before the point."""
    if 0 < abs(value) < 0.1:
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:#.3g}"


def _table(lines: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    written = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    written.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(written)
