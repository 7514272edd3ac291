"""A log that grows by 1 kB a step: what a step takes along it, the file, and loading it again.

    python -m benchmarks.growing           some minutes
    python -m benchmarks.growing --quick   some seconds, to a sixth of the length

A flow appends 3,000 times, and its process kills itself; another one enters the file, and the flow
is live again when it comes to a step that is not recorded. A server does the same by 3,000 calls,
and its state is loaded, as is that of a plan with as long a log.

Beside it, each step is a commit in a thread at the same durability: `sqlite3` inserting a row of
1 kB, and `sqlite3` writing the whole list as JSON anew. Those two are given lists of each length
that is looked at, and do only the steps that are timed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from everstep import Actor, Log, Runtime, Task, handler, step

from .instrument import main
from .rows import POWER_CUT, Point, Row, Side

__all__ = ["rows"]

FULL, QUICK = 3000, 500
ITEM = "x" * 1000
LENGTHS = (10, 100, 1000, 3000)
"""Items in the log where a step is looked at, as far as it comes."""
AROUND = 20
"""So many steps are timed for one of them: for "step 10" the first 20."""
LOADS = 10
WARM_UP = 500
"""Steps after which the log of the file is written over, not grown."""
_TREE = Path(__file__).resolve().parent.parent


class Growing(Actor, name="benchmarks.Growing"):
    """Appends, and tells when it comes to something new."""

    log: Log[str] = Log()
    steps: int
    ran: ClassVar[list[float]] = []
    """When the body of each step ran in this process."""
    dying: ClassVar[bool] = False
    """Whether this is the process that kills itself before the last step."""

    async def run(self) -> int:
        for _ in range(self.steps):
            await self.grow()
        await self.last()
        return len(self.log)

    @step
    async def grow(self) -> None:
        self.ran.append(time.perf_counter())
        self.log.append(ITEM)

    @step
    async def last(self) -> None:
        self.ran.append(time.perf_counter())
        if self.dying:
            print(json.dumps(self.ran), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)


class Diary(Actor, name="benchmarks.Diary"):
    """A server that keeps a log of what it was told."""

    log: Log[str] = Log()

    @handler
    async def note(self) -> None:
        self.log.append(ITEM)


class Filled(Actor, name="benchmarks.Filled"):
    """A plan that appends as much in one step."""

    log: Log[str] = Log()
    items: int

    @step
    async def fill(self) -> None:
        self.log.extend([ITEM] * self.items)


async def _die(file: Path, steps: int) -> None:
    async with Runtime(file) as runtime:
        await (await runtime.start(Growing(steps=WARM_UP))).result()
        Growing.ran.clear()
        Growing.dying = True
        await (await runtime.start(Growing(steps=steps), id="grows")).result()


def _grown(file: Path, steps: int) -> list[float]:
    """Seconds that each step took in a process that was killed at the end of them."""
    command = [sys.executable, "-m", "benchmarks.growing", "--die", str(file), str(steps)]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, cwd=_TREE)
    assert done.returncode == -signal.SIGKILL, done
    ran: list[float] = json.loads(done.stdout)
    return [later - sooner for sooner, later in itertools.pairwise(ran)]


async def _live_again(file: Path) -> float:
    """Seconds from the entering of a runtime to the first new step of the flow."""
    Growing.ran.clear()
    at = time.perf_counter()
    async with Runtime(file) as runtime:
        await runtime.task("grows").result()
    assert len(Growing.ran) == 1  # all that was appended before was only replayed
    return Growing.ran[0] - at


async def _loaded(file: Path, items: int) -> tuple[float, float]:
    """Seconds to load the state of a plan, and of a server, as their lives do."""
    async with Runtime(file) as runtime:
        plan = await runtime.start(Filled(items=items))
        await plan.result()
        diary = runtime.get(Diary, "diary")
        for asked in range(0, items, 500):
            now = min(500, items - asked)
            await asyncio.gather(*(diary.ask(Diary.note) for _ in range(now)))
        server = runtime.task("diary")
        return await _load(plan, Filled, items), await _load(server, Diary, items)


async def _load(task: Task[Any], actor: type[Filled | Diary], items: int) -> float:
    taken: list[float] = []
    for _ in range(LOADS):
        at = time.perf_counter()
        assert len((await task.state(actor)).log) == items
        taken.append(time.perf_counter() - at)
    return statistics.median(taken)


# --- beside it ------------------------------------------------------------------------------


def _opened(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE item (position INTEGER PRIMARY KEY, body BLOB NOT NULL)")
    return connection


async def _each(commit: Callable[[], object]) -> float:
    """Seconds of a commit in a thread; median."""
    loop, taken = asyncio.get_running_loop(), list[float]()
    with ThreadPoolExecutor(1) as thread:
        for _ in range(AROUND):
            at = time.perf_counter()
            await loop.run_in_executor(thread, commit)
            taken.append(time.perf_counter() - at)
    return statistics.median(taken)


def _inserted(file: Path, items: int) -> float:
    """Seconds of appending a row to so many."""
    body = json.dumps(ITEM).encode()
    insert = "INSERT INTO item (body) VALUES (?)"
    with closing(_opened(file)) as connection:
        connection.execute("BEGIN")
        connection.executemany(insert, ((body,) for _ in range(items)))
        connection.execute("COMMIT")
        return asyncio.run(_each(lambda: connection.execute(insert, (body,))))


def _rewritten(file: Path, items: int) -> float:
    """Seconds of appending to a list of so many that is written anew."""
    state = [ITEM] * items
    write = "INSERT OR REPLACE INTO item VALUES (1, ?)"
    with closing(_opened(file)) as connection:

        def commit() -> None:
            state.append(ITEM)
            connection.execute(write, (json.dumps(state).encode(),))

        return asyncio.run(_each(commit))


# --- in sum ---------------------------------------------------------------------------------

Steps = dict[int, float]
"""Seconds of a step, by the items that are in the log."""


@dataclass(slots=True)
class Taken:
    """What each repetition took, in seconds."""

    steps: int
    ours: list[Steps] = field(default_factory=list[Steps])
    inserted: list[Steps] = field(default_factory=list[Steps])
    rewritten: list[Steps] = field(default_factory=list[Steps])
    live: list[float] = field(default_factory=list[float])
    plan: list[float] = field(default_factory=list[float])
    server: list[float] = field(default_factory=list[float])
    size: list[float] = field(default_factory=list[float])
    """Bytes of the file for each byte appended."""

    @property
    def lengths(self) -> list[int]:
        return [items for items in LENGTHS if items <= self.steps]

    def add(self, folder: Path) -> None:
        """Measure once more."""
        file = folder / "grows.db"
        ran = _grown(file, self.steps)
        self.ours.append({items: _around(ran, items) for items in self.lengths})
        self.live.append(asyncio.run(_live_again(file)))
        self.size.append(file.stat().st_size / (self.steps * len(ITEM)))
        plan, server = asyncio.run(_loaded(folder / "loaded.db", self.steps))
        self.plan.append(plan)
        self.server.append(server)
        for steps, measure in ((self.inserted, _inserted), (self.rewritten, _rewritten)):
            files = {items: folder / f"{measure.__name__}{items}" for items in self.lengths}
            steps.append({items: measure(file, items) for items, file in files.items()})

    def compared(self, value: Callable[[Steps], float]) -> tuple[Side, tuple[Side, ...]]:
        """One figure of everstep's steps, and the same of those beside it."""
        ours, inserted, rewritten = (
            _side(name, [value(steps) for steps in many])
            for name, many in (
                ("everstep", self.ours),
                ("sqlite3, a row", self.inserted),
                ("sqlite3, the whole list", self.rewritten),
            )
        )
        return ours, (inserted, rewritten)

    def at(self, items: int) -> Row:
        """A step at one length of the log, a point of the picture."""
        ours, beside = self.compared(lambda steps: steps[items] * 1000)
        what = f"a step that appends 1 kB to a log of {items:,}"
        return Row(what, "ms", ours, beside, point=Point("growth", "items in the log", items))

    def growth(self) -> Row:
        """The last step by the tenth."""
        first, *_, last = self.lengths
        ours, beside = self.compared(lambda steps: steps[last] / steps[first])
        return Row(
            "the last by the first", "times", ours, beside, "at most 1.5", ours.median <= 1.5
        )

    def within(self, what: str, unit: str, values: Sequence[float], most: float) -> Row:
        """A figure of everstep that is to be at most so much at the full length."""
        side = _side("everstep", values)
        full = self.steps == FULL
        aim = f"at most {most:g}" + ("" if full else f" at {FULL:,}")
        return Row(what, unit, side, aim=aim, met=side.median <= most if full else None)


def _around(ran: Sequence[float], items: int) -> float:
    """The median of the steps around the one that finds so many items in the log."""
    begin = min(max(0, items - AROUND // 2), len(ran) - AROUND)
    return statistics.median(ran[begin : begin + AROUND])


def _side(name: str, values: Sequence[float]) -> Side:
    return Side(name, POWER_CUT, tuple(values))


def _ms(values: Sequence[float]) -> list[float]:
    return [value * 1000 for value in values]


def rows(quick: bool, where: Path) -> list[Row]:
    """What a log that grows costs."""
    many = QUICK if quick else FULL
    taken = Taken(many)
    for _ in range(1 if quick else 5):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            taken.add(Path(folder))
    return [
        *map(taken.at, taken.lengths),
        taken.growth(),
        taken.within("the file by the bytes appended", "times", taken.size, 2),
        taken.within(f"loading a plan with {many:,} of 1 kB", "ms", _ms(taken.plan), 50),
        taken.within(f"loading a server after {many:,} calls", "ms", _ms(taken.server), 50),
        taken.within(
            f"a flow of {many:,} steps live again after SIGKILL", "ms", _ms(taken.live), 150
        ),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--die"]:
        asyncio.run(_die(Path(sys.argv[2]), int(sys.argv[3])))
    else:
        main(rows)
