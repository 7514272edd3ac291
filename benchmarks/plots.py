"""Draws what a JSON of the instrument tells: `make bench-plots JSON="bench.json peers.json"`.

    python -m benchmarks.plots FILE ... [--into DIR]

The rows that are points of the same picture make one: a curve for everstep and one for each
baseline, over what they are along; the medians, and around them the extremes of the repetitions.
Needs matplotlib: `pip install everstep[plots]`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from .report import Report, read
from .rows import Row, Side

__all__ = ["draw", "main"]

DOCS = Path(__file__).resolve().parent.parent / "docs"

_SETTINGS = {
    "svg.fonttype": "none",  # text stays text: small files, and searchable
    "svg.hashsalt": "everstep",  # the same numbers make the same file
}


@dataclass(slots=True)
class Curve:
    """One side along a picture."""

    at: list[float] = field(default_factory=list[float])
    sides: list[Side] = field(default_factory=list[Side])

    def draw(self, axes: Any, name: str) -> None:
        medians = [side.median for side in self.sides]
        below = [side.median - min(side.values) for side in self.sides]
        above = [max(side.values) - side.median for side in self.sides]
        axes.errorbar(self.at, medians, (below, above), label=name, marker="o", capsize=3)


def draw(reports: Iterable[Report], folder: Path) -> list[Path]:
    """Make the pictures of these reports, as SVG in a folder; returns the files."""
    pictures: dict[str, list[Row]] = {}
    for report in reports:
        for row in report.rows:
            if row.point is not None:
                pictures.setdefault(row.point.picture, []).append(row)
    library: Any = mpl  # the types of its keyword arguments are not all known
    with library.rc_context(_SETTINGS):
        return [_picture(folder / f"bench-{name}.svg", rows) for name, rows in pictures.items()]


def _picture(file: Path, rows: list[Row]) -> Path:
    figure: Any = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for name, curve in _curves(rows).items():
        curve.draw(axes, name)
    point = rows[0].point
    axes.set(xscale="log", yscale="log", xlabel=point.along if point else "", ylabel=rows[0].unit)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.6g}")
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2)
    figure.savefig(file, metadata={"Date": None})
    return file


def _curves(rows: list[Row]) -> dict[str, Curve]:
    """The curve of each side, by its name and what it survives."""
    curves: dict[str, Curve] = {}
    for row in rows:
        for side in (row.ours, *row.beside):
            curve = curves.setdefault(f"{side.name} (survives: {side.durability})", Curve())
            curve.at.append(row.point.at if row.point else 0)
            curve.sides.append(side)
    return curves


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw what the instrument has measured.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="written by --json")
    parser.add_argument("--into", type=Path, default=DOCS, metavar="DIR", help="by default, docs")
    given = parser.parse_args()
    for file in draw(map(read, given.files), given.into):
        print(file)


if __name__ == "__main__":
    main()
