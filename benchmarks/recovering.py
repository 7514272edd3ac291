"""Recovery: a process with many running tasks is killed, and another one goes on with them.

    python -m benchmarks.recovering           a few minutes
    python -m benchmarks.recovering --quick   a few seconds, with fewer tasks

The first process starts the tasks, and when all of them are in their second step, where they wait,
it kills itself by SIGKILL. The second one is timed from entering the runtime on the file that was
left until the body of that step runs again in all of them; a ticker tells how late the loop is
meanwhile. It is measured twice, each time on a copy of the file: as Python is, and in a program
whose garbage collector looks less often. Beside it the same is begun without a store: as many
asyncio tasks of two coroutines, none of which remembers anything.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from everstep import Actor, Pool, Runtime, step

from .instrument import main
from .queued import Count
from .rows import NONE, POWER_CUT, Row, Side
from .workload import PATIENT

__all__ = ["rows"]

FULL, QUICK = (10_000, 3), (200, 1)
"""(tasks, repetitions)"""
SECONDS, LATE = 2.0, 20.0
"""What is aimed at for ten thousand: seconds, and milliseconds."""
_TICK = 0.001
Facts = dict[str, float]


class Interrupted(Actor, name="benchmarks.Interrupted"):
    """A plan that has its first checkpoint, and waits in its second step."""

    count: ClassVar[Count]

    number: int
    topic: str = "refunds"

    @step
    async def prepare(self) -> int:
        return self.number

    @step
    async def wait(self) -> None:
        await _stand(self.count)


async def _stand(count: Count) -> None:
    count.one_more()
    await asyncio.Event().wait()


# --- in processes of their own -------------------------------------------------------------------


async def _killed(file: Path, tasks: int) -> None:
    """Bring so many tasks to their second step, and die."""
    Interrupted.count = Count()
    async with Runtime(file, tree=Pool(max_running=tasks)) as runtime:
        await runtime.start_many(Interrupted(number=number) for number in range(tasks))
        await Interrupted.count.until(tasks)
        os.kill(os.getpid(), signal.SIGKILL)


async def _recovered(file: Path, tasks: int) -> None:
    Interrupted.count = Count()
    watch = _Watch()
    async with Runtime(file, tree=Pool(max_running=tasks), grace=0):
        await Interrupted.count.until(tasks)
        watch.report()


async def _patient(file: Path, tasks: int) -> None:
    gc.set_threshold(*PATIENT)
    await _recovered(file, tasks)


async def _plain(_: Path, tasks: int) -> None:
    """As many tasks that remember nothing."""
    count = Count()

    async def task(number: int) -> None:
        await prepare(number)
        await _stand(count)

    async def prepare(number: int) -> int:
        return number

    watch = _Watch()
    running = [asyncio.create_task(task(number)) for number in range(tasks)]
    await count.until(tasks)
    watch.report()
    del running


class _Watch:
    """Takes the time from now on, and how late the loop is."""

    def __init__(self) -> None:
        self._late: list[float] = []
        self._ticker = asyncio.create_task(self._tick())
        gc.collect()
        self._burned, self._began = time.process_time(), time.perf_counter()

    async def _tick(self) -> None:
        while True:
            due = time.perf_counter() + _TICK
            await asyncio.sleep(_TICK)
            self._late.append(time.perf_counter() - due)

    def report(self) -> None:
        """Print what was seen, and end the process: what it costs to leave is not asked."""
        seconds, burned = time.perf_counter() - self._began, time.process_time() - self._burned
        late = sorted(self._late) or [0.0]
        facts = {
            "seconds": seconds,
            "CPU seconds": burned,
            "p99 late": late[len(late) * 99 // 100] * 1000,
            "most late": late[-1] * 1000,
        }
        print(json.dumps(facts), flush=True)
        os._exit(0)


_ROLES = {"killed": _killed, "recovered": _recovered, "patient": _patient, "plain": _plain}


def _play(role: str, file: Path, tasks: int) -> str:
    """What a process of this role prints."""
    command = [sys.executable, "-m", "benchmarks.recovering", "--as", role, str(file), str(tasks)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != (-signal.SIGKILL if role == "killed" else 0):
        raise RuntimeError(f"the process that was to be {role} failed:\n{ended.stderr}")
    return ended.stdout


# --- the table -----------------------------------------------------------------------------------


def rows(quick: bool, where: Path) -> list[Row]:
    """Measure how soon all run again, and how late the loop is meanwhile."""
    tasks, times = QUICK if quick else FULL
    measured: dict[str, list[Facts]] = {"recovered": [], "patient": [], "plain": []}
    with tempfile.TemporaryDirectory(dir=where) as folder:
        left = Path(folder).resolve() / "left"
        left.mkdir()
        _play("killed", left / "tasks.db", tasks)
        for number in range(times):
            for role, facts in measured.items():
                place = Path(shutil.copytree(left, left.with_name(f"{role}{number}")))
                facts.append(json.loads(_play(role, place / "tasks.db", tasks)))
    return _rows(measured, tasks)


def _rows(measured: dict[str, list[Facts]], tasks: int) -> list[Row]:
    def side(name: str, role: str, fact: str) -> Side:
        values = tuple(facts[fact] for facts in measured[role])
        return Side(name, NONE if role == "plain" else POWER_CUT, values)

    def row(what: str, unit: str, role: str, fact: str, aim: float | None = None) -> Row:
        ours = side("everstep", role, fact)
        comparable = aim is not None and tasks == FULL[0]
        return Row(
            f"{tasks:,} tasks run again after SIGKILL: {what}",
            unit,
            ours,
            () if "late" in fact else (side("plain asyncio", "plain", fact),),
            f"{aim:g}" if aim is not None else "",
            ours.median <= aim if comparable and aim is not None else None,
        )

    seldom = "the collector looks less often"
    return [
        row("all of them", "s", "recovered", "seconds", SECONDS),
        row(f"all of them; {seldom}", "s", "patient", "seconds", SECONDS),
        row("CPU", "s", "recovered", "CPU seconds"),
        row(f"CPU; {seldom}", "s", "patient", "CPU seconds"),
        row("the loop is late, p99", "ms", "recovered", "p99 late", LATE),
        row(f"the loop is late, p99; {seldom}", "ms", "patient", "p99 late", LATE),
        row("the loop is late, most", "ms", "recovered", "most late"),
        row(f"the loop is late, most; {seldom}", "ms", "patient", "most late"),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as"]:
        asyncio.run(_ROLES[sys.argv[2]](Path(sys.argv[3]), int(sys.argv[4])))
    else:
        main(rows)
