"""Stores for the command line to look at, and the command as a process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from everstep import Actor, Pool, Restart, Runtime, Task, TaskFailed, TaskPaused
from everstep.cli import main

FOREVER = 1e6

_WORK_AND_DIE = """
import asyncio, sys
from pathlib import Path
from tests.cli.kit import work
asyncio.run(work(Path(sys.argv[1]), death=True))
"""


class Chore(Actor, name="cli.Chore"):
    """Ends, fails, is paused, or goes on for ever, as its name says."""

    begun: ClassVar[asyncio.Event]

    what: str

    async def run(self) -> str:
        match self.what:
            case "fails":
                raise ValueError("no such\ncustomer")
            case "pauses":
                await self.ctx.once("mail", self._lost)
            case "goes on":
                self.begun.set()
                await asyncio.sleep(FOREVER)
            case _:
                pass
        return "done"

    async def _lost(self) -> None:
        raise RuntimeError("the line went dead")


async def work(path: Path, *, death: bool = False) -> None:
    """A runtime with a task of each kind, left in order or by SIGKILL."""
    Chore.begun = asyncio.Event()
    pool = Pool("agents", max_running=1, restart=Restart(0))
    async with Runtime(path, tree=pool, actors=[Chore], grace=0) as runtime:
        for name in ("ends", "fails", "pauses"):
            task = await runtime.start(Chore(what=name), id=name)
            await _end(task)
        await runtime.start(Chore(what="goes on"), id="goes on")
        await Chore.begun.wait()
        await runtime.start(Chore(what="ends"), id="waits")
        if death:
            os.kill(os.getpid(), 9)


async def _end(task: Task[str]) -> None:
    try:
        await task.result()
    except (TaskFailed, TaskPaused):
        pass


def worked(path: Path) -> Path:
    """The file of a runtime that was left in order."""
    asyncio.run(work(path))
    return path


def killed(path: Path) -> Path:
    """The file of a runtime whose process was killed at work."""
    done = subprocess.run(
        [sys.executable, "-c", _WORK_AND_DIE, path], cwd=Path(__file__).parents[2]
    )
    assert done.returncode == -9
    return path


def everstep(*argv: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    command = [sys.executable, "-W", "error", "-m", "everstep", *map(str, argv)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def shown(capsys: pytest.CaptureFixture[str], path: Path) -> str:
    """What `everstep tree` prints for a file."""
    assert main(["tree", str(path)]) == 0
    return capsys.readouterr().out


def known(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, Any]:
    """What `everstep tree --json` prints for a file."""
    assert main(["tree", "--json", str(path)]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: pytest.CaptureFixture[str], path: Path | str) -> str:
    """The one line in which `everstep tree` refuses a file."""
    assert main(["tree", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("everstep tree: ")
    assert said.err.count("\n") == 1
    return said.err
