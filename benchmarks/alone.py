"""What must be measured in a process of its own: memory, and how long a start takes.

    python -m benchmarks.alone [--quick]

Called as `python -m benchmarks.alone parked 10000 FOLDER`, it prints one number instead.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from everstep import Actor, Pool, Runtime, step

from . import machine
from .instrument import main
from .rows import NONE, POWER_CUT, Row, Side

__all__ = ["rows"]

_TREE = Path(__file__).resolve().parent.parent
_WARM_UP = 500
_AT_ONCE = 1000
_OPENINGS = 20
_IMPORT, _EMPTY, _PARKED = 150.0, 50.0, 8000.0
"""What is aimed at: milliseconds above pydantic, milliseconds, bytes."""
_BELOW = ("pydantic", "pydantic, asyncio, sqlite3, aiosqlite")
"""What everstep imports from others."""


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
        pass
    return time.perf_counter() - began


def _opened(folder: Path, *, new: bool) -> float:
    """Seconds in which an empty runtime is entered and left; median."""
    files = [folder / f"{'new' if new else 'same'}{number * new}" for number in range(_OPENINGS)]
    if not new:
        asyncio.run(_open(files[0]))
    return statistics.median(asyncio.run(_open(file)) for file in files)


def _measure(what: str, *arguments: object) -> float:
    """One number, measured by this module in a process of its own."""
    return _printed("-m", "benchmarks.alone", what, *map(str, arguments))


def _imported(module: str) -> float:
    """Seconds in which a fresh process imports a module."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return _printed("-c", code)


def _printed(*arguments: str) -> float:
    """The number that a Python process prints; with the tree as its folder."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=_TREE)
    return float(done.stdout)


def _print(what: str, arguments: list[str]) -> None:
    if what == "parked":
        print(asyncio.run(_parked(int(arguments[0]), Path(arguments[1]))))
    else:
        print(_opened(Path(arguments[0]), new=what == "new"))


def rows(quick: bool, where: Path) -> list[Row]:
    repetitions, parked = (1, 2000) if quick else (3, 10_000)
    found: dict[str, list[float]] = {}

    def add(name: str, value: float) -> None:
        found.setdefault(name, []).append(value)

    for _ in range(repetitions):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            add("everstep", _imported("everstep") * 1000)
            for others in _BELOW:
                add(others, _imported(others) * 1000)
            add("new", _measure("new", folder) * 1000)
            add("same", _measure("same", folder) * 1000)
            add("parked", _measure("parked", parked, folder))
    return _rows({name: tuple(values) for name, values in found.items()})


def _rows(found: dict[str, tuple[float, ...]]) -> list[Row]:
    imported = Side("everstep", NONE, found["everstep"])
    below = tuple(Side(name, NONE, found[name]) for name in _BELOW)
    near = imported.median - below[0].median <= _IMPORT
    aim = f"at most {_IMPORT:.0f} ms above pydantic"
    listed = [Row("import", "ms", imported, below, aim, near)]
    for name, what, unit, most in (
        ("new", "an empty runtime entered and left, on a new file", "ms", _EMPTY),
        ("same", "an empty runtime entered and left, on its own file", "ms", _EMPTY),
        ("parked", "a parked task in memory", "bytes", _PARKED),
    ):
        side = Side("everstep", POWER_CUT, found[name])
        aim = f"at most {most:,.0f} {unit}"
        listed.append(Row(what, unit, side, (), aim, side.median <= most))
    return listed


if __name__ == "__main__":
    if sys.argv[1:2] and not sys.argv[1].startswith("-"):
        _print(sys.argv[1], sys.argv[2:])
    else:
        main(rows)
