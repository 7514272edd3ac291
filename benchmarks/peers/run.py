"""everstep beside other durable runtimes, on the same work: `make bench-peers`.

    python -m benchmarks.peers.run [--quick] [--json FILE] [--dir DIR]

A task is three steps, each of which returns a small dict and is durable, as far as its runtime
goes, before the next begins. Each run is a process of its own on new files. Every repetition goes
through all sizes, and each size through everstep and the peers right one after the other. A peer
that fails at a size is not tried again there. Their environments are made in `.peers/`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..instrument import main
from ..rows import POWER_CUT, Point, Row, Side, Unmeasured, percentile, together
from .course import Took
from .environments import PEERS, TREE, CannotInstall, Peer, python

__all__ = ["EVERSTEP", "Measured", "rows", "rows_of"]


class Plan(NamedTuple):
    """How much is measured."""

    repetitions: int
    sizes: dict[int, int]
    """Tasks at once, and how many tasks in all."""


FULL = Plan(3, {1: 50, 100: 300, 1000: 1000})
QUICK = Plan(1, {1: 20, 100: 100})

LONGEST = 180
"""Seconds after which a run is given up."""
TIMES = 50
"""The rate at 1,000 tasks at once that is aimed at, to that of dbos and of langgraph."""

EVERSTEP = Peer("everstep", (), "on_everstep", POWER_CUT)


class CannotRun(Exception):
    """A runtime did not come through the course."""


class Measured:
    """What each runtime took at each size, and what it could not do."""

    def __init__(self) -> None:
        self.took: dict[tuple[Peer, int], list[Took]] = {}
        self.unmeasured: dict[tuple[Peer, int], Unmeasured] = {}

    def add(self, peer: Peer, interpreter: str, at_once: int, tasks: int, where: Path) -> None:
        """Run once more, unless that has failed before."""
        place = peer, at_once
        if place in self.unmeasured:
            return
        try:
            took = _run(peer, interpreter, at_once, tasks, where)
        except CannotRun as failed:
            what = f"{together(at_once)}: {peer.title}"
            self.unmeasured[place] = Unmeasured(what, str(failed))
        else:
            self.took.setdefault(place, []).append(took)


def _run(peer: Peer, interpreter: str, at_once: int, tasks: int, where: Path) -> Took:
    with tempfile.TemporaryDirectory(dir=where) as folder:
        module = f"benchmarks.peers.{peer.module}"
        command = [interpreter, "-m", module, folder, str(at_once), str(tasks)]
        try:
            done = subprocess.run(
                command, cwd=TREE, capture_output=True, text=True, timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            raise CannotRun(f"not done in {LONGEST} s") from None
    if done.returncode:
        raise CannotRun(f"failed: {done.stderr.strip().rpartition(chr(10))[2]}")
    return Took(**json.loads(done.stdout))


def _measure(plan: Plan, where: Path) -> list[Row | Unmeasured]:
    runtimes, absent = _installed()
    measured = Measured()
    for _ in range(plan.repetitions):
        for at_once, tasks in plan.sizes.items():
            for peer, interpreter in runtimes.items():
                measured.add(peer, interpreter, at_once, tasks, where)
    found = [row for at_once in plan.sizes for row in rows_of(at_once, measured)]
    return [*found, *absent, *measured.unmeasured.values()]


def _installed() -> tuple[dict[Peer, str], list[Unmeasured]]:
    """The interpreter of each runtime, everstep's first, and the peers that have none."""
    runtimes, absent = {EVERSTEP: sys.executable}, list[Unmeasured]()
    for peer in PEERS:
        try:
            runtimes[peer] = str(python(peer))
        except CannotInstall as failed:
            absent.append(Unmeasured(peer.title, f"cannot be installed: {failed}"))
    return runtimes, absent


def rows_of(at_once: int, measured: Measured) -> list[Row]:
    """What was measured at one size; nothing if everstep failed there."""

    def row(what: str, unit: str, value: Callable[[Took], float]) -> Row:
        ours, *beside = (
            Side(peer.title, peer.durability, tuple(map(value, measured.took[peer, at_once])))
            for peer in (EVERSTEP, *PEERS)
            if (peer, at_once) in measured.took
        )
        return Row(f"{together(at_once)}{what}", unit, ours, tuple(beside))

    if (EVERSTEP, at_once) not in measured.took:
        return []
    rate = row(": steps", "steps/s", lambda took: took.steps / took.seconds)
    rate = replace(rate, point=Point("peers", "tasks at once", at_once))
    return [
        _with_aim(rate) if at_once == 1000 else rate,
        row(": p50 of a task", "ms", lambda took: percentile(took.tasks, 50) * 1000),
        row(": CPU of a step", "us", lambda took: took.cpu / took.steps * 1e6),
    ]


def _with_aim(rate: Row) -> Row:
    """Beside those of the peers that the aim names, as far as they were measured."""
    named = [side for side in rate.beside if side.name.startswith(("dbos", "langgraph"))]
    met = all(rate.ratio(side) >= TIMES for side in named) if named else None
    return replace(rate, aim=f"at least {TIMES} times dbos and langgraph", met=met)


def rows(quick: bool, where: Path) -> list[Row | Unmeasured]:
    return _measure(QUICK if quick else FULL, where)


if __name__ == "__main__":
    main(rows)
