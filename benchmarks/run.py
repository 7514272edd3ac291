"""Prints one table: everstep at 1 to 10,000 tasks at once, beside the same rows without it.

    make bench          some minutes
    make bench-quick    under a minute
    python -m benchmarks.run --json FILE

Every repetition goes through all sizes, and replays what everstep left right after it, so that
both sides of a ratio are measured in the same minute. Medians, and in brackets the extremes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import alone, machine, workload
from .replay import replay

__all__ = ["main"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    repetitions: int
    seconds: float
    """After which no repetition begins, whatever is left."""
    sizes: dict[int, int]
    """Tasks at once, and how many tasks in all."""
    parked: int
    others: int
    """Repetitions of what is no rate."""


FULL = Plan(7, 240, {1: 400, 10: 1500, 100: 4000, 1000: 8000, 10_000: 20_000}, 10_000, 3)
QUICK = Plan(3, 20, {1: 100, 10: 300, 100: 800, 1000: 2000, 10_000: 10_000}, 5_000, 1)


@dataclass(slots=True)
class Cell:
    """One line of the table: its repetitions."""

    rate: list[float] = field(default_factory=list[float])
    p50: list[float] = field(default_factory=list[float])
    p99: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])
    commits: list[float] = field(default_factory=list[float])
    raw: list[float] = field(default_factory=list[float])
    ratio: list[float] = field(default_factory=list[float])

    def add(self, folder: Path, at_once: int, tasks: int) -> None:
        """Measure once more."""
        left, new = folder / "everstep.sqlite", folder / "replayed.sqlite"
        ran = workload.run(left, at_once, tasks)
        replayed = replay(left, new)
        raw = replayed.steps / replayed.seconds
        rate = ran.steps / ran.seconds
        self.rate.append(rate)
        self.p50.append(_percentile(ran.latencies, 50) * 1000)
        self.p99.append(_percentile(ran.latencies, 99) * 1000)
        self.cpu.append(ran.cpu / ran.steps * 1e6)
        self.commits.append(replayed.commits / replayed.transactions)
        self.raw.append(raw)
        self.ratio.append(rate / raw)


def _percentile(values: list[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def _measure(plan: Plan, where: Path) -> dict[int, Cell]:
    cells = {at_once: Cell() for at_once in plan.sizes}
    ends_at = time.perf_counter() + plan.seconds
    _add(Cell(), where, 100, 300)  # to warm up
    for number in range(plan.repetitions):
        for at_once, tasks in plan.sizes.items():
            if number == 0 or time.perf_counter() < ends_at:
                _add(cells[at_once], where, at_once, tasks)
    return cells


def _add(cell: Cell, where: Path, at_once: int, tasks: int) -> None:
    """Measure a cell once more, in a folder of its own."""
    with tempfile.TemporaryDirectory(dir=where) as folder:
        cell.add(Path(folder), at_once, tasks)


def _others(plan: Plan, where: Path) -> dict[str, list[float]]:
    """What is no rate, by what it is."""
    found: dict[str, list[float]] = {}

    def add(name: str, value: float) -> None:
        found.setdefault(name, []).append(value)

    for _ in range(plan.others):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            add("import everstep, ms", alone.imported("everstep") * 1000)
            add("of that pydantic, asyncio, sqlite3 and aiosqlite, ms", _below() * 1000)
            add("an empty runtime on a new file, ms", alone.measure("new", folder) * 1000)
            add("an empty runtime on its file, ms", alone.measure("same", folder) * 1000)
            add("a parked task, bytes", alone.measure("parked", plan.parked, folder))
    return found


def _below() -> float:
    return alone.imported("pydantic, asyncio, sqlite3, aiosqlite")


_HEAD = ("tasks", "runs", "steps/s", "p50 ms", "p99 ms", "CPU us a step", "commits a batch",
         "sqlite3 steps/s", "ratio")  # fmt: skip


def _lines(cells: dict[int, Cell]) -> list[tuple[str, ...]]:
    return [
        (
            f"{at_once:,}",
            str(len(cell.rate)),
            _spread(cell.rate, ",.0f"),
            _spread(cell.p50, ".2f"),
            _spread(cell.p99, ".2f"),
            _spread(cell.cpu, ".0f"),
            f"{statistics.median(cell.commits):.1f}",
            _spread(cell.raw, ",.0f"),
            _spread(cell.ratio, ".2f"),
        )
        for at_once, cell in cells.items()
    ]


def _spread(values: Sequence[float], form: str) -> str:
    middle = format(statistics.median(values), form)
    return f"{middle} ({min(values):{form}}-{max(values):{form}})"


def _table(lines: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    written = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    written.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(written)


_NOTE = """
everstep: a task is a plan of three steps, each of which returns a small dict, one of which changes
a field. Counted is all from the first `start` to the last `result`: 4 commits a task, each waited
for. Latency: from the body of a step to that of the next. Both sides: WAL, synchronous=FULL, so
what was acknowledged survives a power cut, on a disk that honours its flushes. sqlite3: the rows
that everstep left, by `executemany`, in as many transactions; nothing else is done there.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure everstep beside SQLite itself.")
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to FILE")
    parser.add_argument("--dir", type=Path, metavar="DIR", help="where the files are made")
    given = parser.parse_args()
    plan = QUICK if given.quick else FULL
    where = given.dir or Path(tempfile.gettempdir())
    facts = machine.describe(where)
    began = time.perf_counter()
    cells = _measure(plan, where)
    others = _others(plan, where)
    facts["load after"] = round(machine.load(), 2)
    print(*(f"{name}: {value}" for name, value in facts.items()), sep="; ")
    print("\nmedian of the runs (least-most)\n")
    print(_table([_HEAD, *_lines(cells)]))
    print(
        f"\n{_table([('also', ''), *((name, _spread(v, ',.0f')) for name, v in others.items())])}"
    )
    print(_NOTE)
    print(f"measured in {time.perf_counter() - began:.0f} s")
    if given.json:
        given.json.write_text(json.dumps(_numbers(facts, cells, others), indent=1) + "\n")


def _numbers(
    facts: dict[str, Any], cells: dict[int, Cell], others: dict[str, list[float]]
) -> dict[str, Any]:
    """Everything that was measured, each repetition."""
    sizes = {str(at_once): asdict(cell) for at_once, cell in cells.items()}
    return {"machine": facts, "tasks": sizes, "others": others}


if __name__ == "__main__":
    main()
