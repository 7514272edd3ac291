"""What must be measured in a process of its own: memory, and how long a start takes.

    python -m benchmarks.alone [--quick]

- **Import** is the CPU time of `import everstep` in a fresh process that finds its bytecode cached,
  beside that of importing pydantic and making one model, as each program with an actor does.
- **An empty runtime** is entered and left, on a new file and on the same file again.
- **A parked task** waits in a step for what never comes. Counted is the growth of resident memory,
  beside as many bare models of its state, and asyncio tasks that wait for a future.

Called as `python -m benchmarks.alone parked 10000 FOLDER`, it prints one number instead.
"""

from __future__ import annotations

import asyncio
import itertools
import os
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
_MANY = 100_000
"""So many are parked once, in the full form."""
_WARM_UP = 300
_AT_ONCE = 1000
_OPENINGS = 5
_IMPORT, _EMPTY, _PARKED = 150.0, 50.0, 8000.0
"""What is aimed at: milliseconds above pydantic, milliseconds, bytes above the state."""
_TIMED = """
import time
began = time.process_time()
{}
print(time.process_time() - began)
"""
_PYDANTIC = "import pydantic\nclass Model(pydantic.BaseModel):\n    number: int"
_OTHERS = "import asyncio, sqlite3, aiosqlite\n" + _PYDANTIC


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


async def _parked(tasks: int, folder: Path) -> None:
    """Print the bytes of a parked task, and end the process: what leaving takes is not asked."""
    pool = Pool(max_running=tasks + 1)
    async with Runtime(folder / "parked.sqlite", tree=pool, grace=0) as runtime:
        warm = await asyncio.gather(*(runtime.start(Parked(number=-1)) for _ in range(_WARM_UP)))
        await asyncio.gather(*(task.result() for task in warm))
        before = machine.resident()
        left = iter(reversed(range(tasks)))
        while numbers := list(itertools.islice(left, _AT_ONCE)):
            await asyncio.gather(*(runtime.start(Parked(number=number)) for number in numbers))
        await _parked_last.wait()
        await (await runtime.start(Parked(number=-1))).result()  # commits what came before it
        print((machine.resident() - before) / tasks, flush=True)
        os._exit(0)


async def _future(tasks: int) -> float:
    """Bytes of an asyncio task that waits for a future."""

    async def park() -> None:
        await asyncio.get_running_loop().create_future()

    before = machine.resident()
    parked = [asyncio.create_task(park()) for _ in range(tasks)]
    await asyncio.sleep(0)
    taken = (machine.resident() - before) / tasks
    for task in parked:
        task.cancel()
    return taken


def _state(tasks: int) -> float:
    """Bytes of the model alone."""
    before = machine.resident()
    kept = [Parked(number=number) for number in range(tasks)]
    return (machine.resident() - before) / len(kept)


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
    return _printed({}, "-m", "benchmarks.alone", what, *map(str, arguments))


def _imported(code: str) -> float:
    """Seconds of CPU in which a fresh process runs some code."""
    return _printed({"PYTHONDONTWRITEBYTECODE": ""}, "-c", _TIMED.format(code))


def _printed(environment: dict[str, str], *arguments: str) -> float:
    """The number that a Python process prints; with the tree as its folder."""
    done = subprocess.run(
        [sys.executable, *arguments],
        check=True, stdout=subprocess.PIPE, text=True, cwd=_TREE, env={**os.environ, **environment},
    )  # fmt: skip
    return float(done.stdout)


def _print(what: str, arguments: list[str]) -> None:
    if what == "parked":
        asyncio.run(_parked(int(arguments[0]), Path(arguments[1])))
    elif what == "future":
        print(asyncio.run(_future(int(arguments[0]))))
    elif what == "state":
        print(_state(int(arguments[0])))
    else:
        print(_opened(Path(arguments[0]), new=what == "new"))


def rows(quick: bool, where: Path) -> list[Row]:
    repetitions, parked, imports = (1, 500, 1) if quick else (3, 20_000, 9)
    found: dict[str, list[float]] = {}

    def add(name: str, value: float) -> None:
        found.setdefault(name, []).append(value)

    codes = {"import": "import everstep", "pydantic": _PYDANTIC, "others": _OTHERS}
    _imported(codes["import"])  # compiles it, and what it imports, where that was not done yet
    for _ in range(imports):
        for name, code in codes.items():
            add(name, _imported(code) * 1000)
    for _ in range(repetitions):
        with tempfile.TemporaryDirectory(dir=where) as folder:
            add("new", _measure("new", folder) * 1000)
            add("same", _measure("same", folder) * 1000)
            add("parked", _measure("parked", parked, folder))
            add("state", _measure("state", parked))
            add("future", _measure("future", parked))
    if not quick:
        with tempfile.TemporaryDirectory(dir=where) as folder:
            add("many", _measure("parked", _MANY, folder))
    return _rows({name: tuple(values) for name, values in found.items()})


def _rows(found: dict[str, tuple[float, ...]]) -> list[Row]:
    imported = Side("everstep", NONE, found["import"])
    pydantic = Side("pydantic and a model", NONE, found["pydantic"])
    others = Side("the same, asyncio, sqlite3, aiosqlite", NONE, found["others"])
    parked = Side("everstep", POWER_CUT, found["parked"])
    state = Side("the model of its state", NONE, found["state"])
    future = Side("asyncio task with a future", NONE, found["future"])
    many = Side("everstep", POWER_CUT, found.get("many", ()))
    return [
        Row(
            "import, CPU time", "ms", imported, (pydantic, others),
            f"at most {_IMPORT:.0f} ms above pydantic",
            imported.median - pydantic.median <= _IMPORT,
        ),
        *(
            Row(
                f"an empty runtime entered and left, on {file}", "ms", side, (),
                f"at most {_EMPTY:.0f} ms", side.median <= _EMPTY,
            )
            for file, side in (
                ("a new file", Side("everstep", POWER_CUT, found["new"])),
                ("its own file", Side("everstep", POWER_CUT, found["same"])),
            )
        ),
        Row(
            "a parked task in memory", "bytes", parked, (state, future),
            f"at most {_PARKED:,.0f} bytes above its state",
            parked.median - state.median <= _PARKED,
        ),
        *([Row(f"a parked task, of {_MANY:,}", "bytes", many)] if many.values else []),
    ]  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] and not sys.argv[1].startswith("-"):
        _print(sys.argv[1], sys.argv[2:])
    else:
        main(rows)
