"""`everstep.run` turns signals into an orderly stop."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import everstep
from everstep import Runtime, Status
from tests.runtime.kit import Plain, until

PROGRAM = """
import asyncio, sys
import everstep
from everstep import Actor, Retry, Runtime, step

class Long(Actor, name="running.Long"):
    @step
    async def wait(self) -> None:
        print("running", flush=True)
        {wait}

async def main() -> None:
    async with Runtime({path!r}, grace={grace}) as runtime:
        task = await runtime.start(Long(), id="long")
        await task.result()

everstep.run(main())
"""


def program(path: Path, *, grace: float, wait: str) -> "subprocess.Popen[str]":
    """Start a program whose only task waits; it is running when this returns."""
    source = textwrap.dedent(PROGRAM).format(path=str(path), grace=grace, wait=wait)
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=path.parent,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    return process


async def status(path: Path) -> everstep.TaskInfo:
    async with Runtime(path, actors=[Plain], wait=5) as runtime:
        return await until(runtime.task("long"), lambda info: info.status is Status.QUEUED)


def test_it_returns_what_main_returns_and_leaves_the_signals_as_they_were() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    async def main() -> int:
        return 7

    assert everstep.run(main()) == 7
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_an_error_of_main_is_raised() -> None:
    async def main() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        everstep.run(main())


@pytest.mark.real
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)]
)
def test_one_signal_stops_in_order(tmp_path: Path, number: signal.Signals, code: int) -> None:
    path = tmp_path / "tasks.db"
    process = program(path, grace=0, wait="await asyncio.sleep(3600)")

    process.send_signal(number)
    _, errors = process.communicate(timeout=20)

    assert process.returncode == code, errors
    info = asyncio.run(status(path))
    assert (info.status, info.deaths) == (Status.QUEUED, 0)


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_grace(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "tasks.db"
    process = program(path, grace=3600, wait="await asyncio.sleep(3600)")

    process.send_signal(number)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(number)
    process.communicate(timeout=9)

    info = asyncio.run(status(path))
    assert (info.status, info.deaths) == (Status.QUEUED, 0)


@pytest.mark.real
def test_a_third_signal_ends_at_once_whatever_blocks_the_loop(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    process = program(path, grace=0, wait="import time; time.sleep(3600)")

    for _ in range(3):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=9)

    assert process.returncode == 143
    assert asyncio.run(status(path)).deaths == 1


@pytest.mark.real
def test_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    process = program(path, grace=0, wait="await asyncio.sleep(3600)")

    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=9)

    info = asyncio.run(status(path))
    assert (info.id, info.deaths) == ("long", 1)
