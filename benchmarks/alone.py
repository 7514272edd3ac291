"""What must be measured in a process of its own: memory, and how long a start takes.

Called as `python -m benchmarks.alone parked 10000 FOLDER`, it prints one number.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import subprocess
import sys
import time
from pathlib import Path

from everstep import Actor, Pool, Runtime, step

from . import machine

__all__ = ["imported", "measure"]

_TREE = Path(__file__).resolve().parent.parent
_WARM_UP = 500
_AT_ONCE = 1000
_OPENINGS = 20


class Parked(Actor, name="bench.parked"):
    number: int
    note: str = "what a small task keeps in its state: a text of some length, and a number"

    @step
    async def wait(self) -> None:
        if self.number >= 0:
            await _parking(self.number)


_parked_last = asyncio.Event()
"""Set when the task that was started last is in its step."""
_never = asyncio.Event()


async def _parking(number: int) -> None:
    if number == 0:
        _parked_last.set()
    await _never.wait()


async def _parked(tasks: int, folder: Path) -> float:
    pool = Pool(max_running=tasks + 1)
    async with Runtime(folder / "parked.sqlite", tree=pool, grace=0) as runtime:
        for _ in range(_WARM_UP):
            await (await runtime.start(Parked(number=-1))).result()
        before = machine.resident()
        left = iter(reversed(range(tasks)))
        while numbers := list(itertools.islice(left, _AT_ONCE)):
            await asyncio.gather(*(runtime.start(Parked(number=number)) for number in numbers))
        await _parked_last.wait()
        await (await runtime.start(Parked(number=-1))).result()  # commits what came before it
        return (machine.resident() - before) / tasks


async def _open(file: Path) -> float:
    began = time.perf_counter()
    async with Runtime(file):
        return time.perf_counter() - began


def _opened(folder: Path, *, new: bool) -> float:
    """Seconds until an empty runtime is entered; median."""
    files = [folder / f"{'new' if new else 'same'}{number * new}" for number in range(_OPENINGS)]
    if not new:
        asyncio.run(_open(files[0]))
    return statistics.median(asyncio.run(_open(file)) for file in files)


def measure(what: str, *arguments: object) -> float:
    """One number, measured by this module in a process of its own."""
    return _printed("-m", "benchmarks.alone", what, *map(str, arguments))


def imported(module: str) -> float:
    """Seconds in which a fresh process imports a module."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return _printed("-c", code)


def _printed(*arguments: str) -> float:
    """The number that a Python process prints; with the tree as its folder."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=_TREE)
    return float(done.stdout)


def main(what: str, arguments: list[str]) -> None:
    if what == "parked":
        print(asyncio.run(_parked(int(arguments[0]), Path(arguments[1]))))
    else:
        print(_opened(Path(arguments[0]), new=what == "new"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
