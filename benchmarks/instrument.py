"""Runs what measures, each in a process of its own, prints the table and writes it as JSON."""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from . import machine
from .apart import Failed, apart
from .report import Report, as_text, write
from .rows import Row, Unmeasured

__all__ = ["Measure", "main", "measure"]

LONGEST = 1800.0
"""Seconds after which one of them is given up."""


class Measure(Protocol):
    """The function `rows` of a module that measures something."""

    def __call__(self, quick: bool, where: Path) -> Sequence[Row | Unmeasured]:
        """Measure in some minutes, or in a few seconds, with all files in the folder `where`."""
        ...


def measure(measures: Sequence[Measure], quick: bool, where: Path) -> tuple[Report, list[str]]:
    """What all of them found, and what went wrong in those that failed.

    One that fails is a line of the report, and the others are measured all the same.
    """
    facts, began = machine.describe(where), time.perf_counter()
    rows, unmeasured, failures = list[Row](), list[Unmeasured](), list[str]()
    for one in measures:
        name = _name(one)
        print(f"{time.perf_counter() - began:5.0f} s  {name}", file=sys.stderr)
        try:
            with tempfile.TemporaryDirectory(dir=where) as folder:
                found = apart(partial(one, quick, Path(folder)), LONGEST)
        except Failed as failed:
            unmeasured.append(Unmeasured(name, f"failed: {str(failed).splitlines()[-1]}"))
            failures.append(f"{name} failed:\n{failed}")
        else:
            rows += [row for row in found if isinstance(row, Row)]
            unmeasured += [row for row in found if isinstance(row, Unmeasured)]
    facts["load after"] = round(machine.load(), 2)
    seconds = time.perf_counter() - began
    return Report(facts, seconds, tuple(rows), tuple(unmeasured)), failures


def main(*measures: Measure, arguments: Sequence[str] | None = None) -> None:
    """The command line of what measures. Exits with 1 if any of it failed."""
    parser = argparse.ArgumentParser(
        description=sys.modules["__main__"].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a few seconds for each module")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to FILE")
    parser.add_argument("--dir", type=Path, metavar="DIR", help="where the files are made")
    given = parser.parse_args(arguments)
    where = given.dir or Path(tempfile.gettempdir())
    report, failures = measure(measures, given.quick, where)
    print(as_text(report))
    if given.json:
        write(report, given.json)
    if failures:
        sys.exit("\n".join(failures))


def _name(measure: Measure) -> str:
    """The name of its module, also if that is what was called by `python -m`."""
    module = inspect.getmodule(measure)
    return module.__spec__.name if module and module.__spec__ else "unknown"
