"""One task alone: a step's latency, beside a commit of the same rows through a thread.

    python -m benchmarks.one_task [--quick]

The task is one plan of 1,000 steps in a row. On the other side the rows that it left are written by
sqlite3 in a thread, each commit in a transaction of its own and with a hop there and back, as
everstep's are: no step that is acknowledged one by one from an asyncio loop can be faster.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from everstep import Actor, Runtime, step

from .instrument import main
from .replay import replay_through_thread
from .rows import POWER_CUT, Row, Side, percentile

__all__ = ["measure", "rows"]

FULL, QUICK = (9, 1000), (3, 300)
"""Repetitions, and steps of the task."""
WARM_UP = 30
"""Steps that are not counted."""
AIM = 2.0
"""p50 of a step, to that of a commit through a thread, at most."""

_bodies: list[float] = []
"""Instants at which the body of each step ran."""


class Long(Actor, name="bench.long"):
    steps: int
    number: int = 0

    async def run(self) -> None:
        for _ in range(self.steps):
            await self.one()

    @step
    async def one(self) -> dict[str, int]:
        _bodies.append(time.perf_counter())
        self.number += 1
        return {"rows": 3}


async def _latencies(file: Path, steps: int) -> list[float]:
    """Seconds from the body of a step to that of the next."""
    _bodies.clear()
    async with Runtime(file) as runtime:
        await (await runtime.start(Long(steps=steps))).result()
    return [later - earlier for earlier, later in pairwise(_bodies)]


def _both(where: Path, steps: int) -> tuple[list[float], list[float]]:
    with tempfile.TemporaryDirectory(dir=where) as folder:
        left, new = Path(folder, "everstep.sqlite"), Path(folder, "replayed.sqlite")
        gc.collect()
        return asyncio.run(_latencies(left, steps)), asyncio.run(replay_through_thread(left, new))


def rows(quick: bool, where: Path) -> list[Row]:
    return measure(*(QUICK if quick else FULL), where)


def measure(repetitions: int, steps: int, where: Path) -> list[Row]:
    """p50 and p99 of a step of a task of so many."""
    _both(where, WARM_UP)
    measured = [_both(where, steps) for _ in range(repetitions)]
    found: list[Row] = []
    for percent in (50, 99):
        ours, raw = (
            Side(name, POWER_CUT, tuple(percentile(taken, percent) * 1000 for taken in side))
            for name, side in zip(
                ("everstep", "sqlite3 in a thread"), zip(*measured, strict=True), strict=True
            )
        )
        what = f"one task alone, {steps:,} steps: p{percent} of a step"
        if percent == 50:
            aim, met = f"at most {AIM:.0f} times sqlite3", ours.median <= AIM * raw.median
            found.append(Row(what, "ms", ours, (raw,), aim, met))
        else:
            found.append(Row(what, "ms", ours, (raw,)))
    return found


if __name__ == "__main__":
    main(rows)
