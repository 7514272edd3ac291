"""Steps: 1 to 10,000 tasks at once, beside the same rows without everstep, and beside no rows.

    python -m benchmarks.steps [--quick]

A task is a plan of three steps that do nothing, each of which returns a small dict, one of which
changes a field. Counted is all from the first `start` to the last `result`: four commits a task,
each waited for. Latency is from the body of a step to that of the next one. `sqlite3` writes the
rows that everstep left, in as many transactions, and does nothing else (`benchmarks/replay.py`);
`asyncio` runs the same bodies as bare coroutines (`benchmarks/plain.py`). `collector tuned` is
everstep again, after `gc.freeze()` and with `gc.set_threshold(50_000, 20, 100)`.

Every repetition goes through all sizes, and each size through its sides right one after the other.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from . import plain, workload
from .instrument import main
from .replay import Replayed, replay
from .rows import NONE, POWER_CUT, Point, Row, Side, Unmeasured, percentile, together
from .workload import Ran

__all__ = ["Plan", "measure", "rows"]


class Plan(NamedTuple):
    """How much is measured."""

    repetitions: int
    seconds: float
    """After which no repetition begins, whatever is left."""
    sizes: dict[int, int]
    """Tasks at once, and how many tasks in all."""


FULL = Plan(5, 200, {1: 400, 10: 1500, 100: 4000, 1000: 8000, 10_000: 20_000})
QUICK = Plan(2, 5, {1: 60, 10: 200, 100: 400, 1000: 1000})

SHARE, FLOOR = 0.5, 0.2
"""Of the rate of sqlite3: what is aimed at, and what it should not fall below."""
SPREAD = 5.0
"""p99 of a step to its p50, at most."""


@dataclass(slots=True)
class Cell:
    """All repetitions of one size."""

    ours: list[Ran] = field(default_factory=list[Ran])
    tuned: list[Ran] = field(default_factory=list[Ran])
    raw: list[Replayed] = field(default_factory=list[Replayed])
    bare: list[Ran] = field(default_factory=list[Ran])

    def add(self, where: Path, at_once: int, tasks: int) -> None:
        """Measure every side once more."""
        with tempfile.TemporaryDirectory(dir=where) as folder:
            left, new = Path(folder, "everstep.sqlite"), Path(folder, "replayed.sqlite")
            self.ours.append(workload.run(left, at_once, tasks))
            self.raw.append(replay(left, new))
            self.bare.append(plain.run(at_once, tasks))
            with workload.tuned_collector():
                self.tuned.append(workload.run(Path(folder, "tuned.sqlite"), at_once, tasks))


def rows(quick: bool, where: Path) -> list[Row | Unmeasured]:
    plan = QUICK if quick else FULL
    left_out = [
        Unmeasured(together(at_once), "takes too long for the quick form")
        for at_once in FULL.sizes
        if at_once not in plan.sizes
    ]
    return [*measure(plan, where), *left_out]


def measure(plan: Plan, where: Path) -> list[Row]:
    """The rows of each size."""
    return [row for at_once, cell in _cells(plan, where).items() for row in _rows(at_once, cell)]


def _cells(plan: Plan, where: Path) -> dict[int, Cell]:
    cells = {at_once: Cell() for at_once in plan.sizes}
    Cell().add(where, 100, 300)  # to warm up
    ends_at = time.perf_counter() + plan.seconds
    for number in range(plan.repetitions):
        for at_once, tasks in plan.sizes.items():
            if number == 0 or time.perf_counter() < ends_at:
                cells[at_once].add(where, at_once, tasks)
    return cells


def _rows(at_once: int, cell: Cell) -> list[Row]:
    what = together(at_once)
    return [
        _rate(what, at_once, cell),
        _latency(what, at_once, cell),
        Row(
            f"{what}: CPU of a step",
            "us",
            _everstep(run.cpu / run.steps * 1e6 for run in cell.ours),
            (
                _sqlite3(run.cpu / run.steps * 1e6 for run in cell.raw),
                _asyncio(run.cpu / run.steps * 1e6 for run in cell.bare),
            ),
        ),
        Row(
            f"{what}: commits in a transaction",
            "commits",
            _everstep(run.commits / run.transactions for run in cell.raw),
        ),
    ]


def _rate(what: str, at_once: int, cell: Cell) -> Row:
    ours = _everstep(run.steps / run.seconds for run in cell.ours)
    raw = _sqlite3(run.steps / run.seconds for run in cell.raw)
    bare = _asyncio(run.steps / run.seconds for run in cell.bare)
    tuned = Side("collector tuned", POWER_CUT, tuple(r.steps / r.seconds for r in cell.tuned))
    beside = (raw, bare, tuned)
    place = Point("steps", "tasks at once", at_once)
    if at_once == 1:  # what one task alone should take is said in benchmarks.one_task
        return Row(f"{what}: steps", "steps/s", ours, beside, point=place)
    met = ours.median >= SHARE * raw.median
    aim = f"{SHARE} of sqlite3, at least {FLOOR}"
    return Row(f"{what}: steps", "steps/s", ours, beside, aim, met, place)


def _latency(what: str, at_once: int, cell: Cell) -> Row:
    p50, p99 = (
        tuple(percentile(run.latencies, percent) * 1000 for run in cell.ours)
        for percent in (50, 99)
    )
    return Row(
        f"{what}: p99 of a step",
        "ms",
        ours := _everstep(p99),
        (beside := Side("its p50", POWER_CUT, p50),),
        f"at most {SPREAD:.0f} times its p50",
        ours.median <= SPREAD * beside.median,
        Point("latency", "tasks at once", at_once),
    )


def _everstep(values: Iterable[float]) -> Side:
    return Side("everstep", POWER_CUT, tuple(values))


def _sqlite3(values: Iterable[float]) -> Side:
    return Side("sqlite3", POWER_CUT, tuple(values))


def _asyncio(values: Iterable[float]) -> Side:
    return Side("asyncio", NONE, tuple(values))


if __name__ == "__main__":
    main(rows)
