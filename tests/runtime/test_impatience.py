"""A store that gives up stops its runtime, whoever's write it was, and charges nobody."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from everstep import Pool, Restart, Runtime, Status, StoreFailed, TaskFailed
from everstep.testing import ManualClock
from tests.runtime.kit import Gate, Plain, Unsteady, Waiting


@contextmanager
def full() -> Generator[None]:
    """No file can be written to, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def impatient(path: Path, clock: ManualClock) -> Runtime:
    """A runtime whose store gives up after ten seconds."""
    tree = Pool(restart=Restart(0))
    return Runtime(path, clock=clock, tree=tree, store_patience=10, grace=0)


async def lose_patience(clock: ManualClock) -> None:
    """Let time pass, retry by retry, whether a write or a read is tried again, until ended."""
    while True:
        await clock.until_waiting(within=3)
        clock.advance(2)
        await asyncio.sleep(0)


@pytest.mark.real
async def test_a_write_of_an_operator_that_fails_for_good_stops_the_runtime(
    tmp_path: Path,
) -> None:
    path, clock = tmp_path / "tasks.db", ManualClock()
    Unsteady.errors = [ValueError("no")]
    told: list[BaseException | None] = []

    async def resume_on_a_full_disk() -> None:
        async with impatient(path, clock) as runtime:
            task = await runtime.start(Unsteady())
            with pytest.raises(TaskFailed):
                await task.result()
            with full():
                resuming = asyncio.create_task(task.resume())
                resuming.add_done_callback(lambda done: told.append(done.exception()))
                await lose_patience(clock)

    with pytest.raises(StoreFailed):
        await resume_on_a_full_disk()

    assert [type(error) for error in told] == [StoreFailed]


@pytest.mark.real
async def test_runtimes_that_their_store_stops_one_after_the_other_charge_nobody(
    tmp_path: Path, gate: Gate
) -> None:
    path, clock = tmp_path / "tasks.db", ManualClock()

    async def stop_while_a_task_runs() -> None:
        async with impatient(path, clock) as runtime:
            await runtime.start(Waiting(name="a"), id="a")
            await gate.until("a")
            with full():
                starting = asyncio.create_task(runtime.start(Plain()))
                try:
                    await lose_patience(clock)
                finally:
                    with pytest.raises(StoreFailed):
                        await starting

    async def stop_before_the_recovery() -> None:
        async with impatient(path, clock):
            with full():
                await lose_patience(clock)

    for stopped in (stop_while_a_task_runs, stop_before_the_recovery, stop_before_the_recovery):
        with pytest.raises(StoreFailed):
            await stopped()

    gate.open("a")
    async with impatient(path, clock) as runtime:
        task = runtime.task("a", Waiting)
        assert await task.result() == "a"
        info = await task.status()
        assert (info.status, info.deaths, info.crashes) == (Status.SUCCEEDED, 0, 0)
        assert [one.attempts for one in await task.steps()] == [1, 1]


@pytest.mark.real
async def test_an_alarm_says_what_to_do_while_the_store_cannot_commit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()

    async with impatient(tmp_path / "tasks.db", clock) as runtime:
        with full():
            starting = asyncio.create_task(runtime.start(Plain()))
            await clock.until_waiting(within=3)
            (alarm,) = [one for one in caplog.records if one.levelname == "ERROR"]
        passing = asyncio.create_task(lose_patience(clock))
        task = await starting
        passing.cancel()
        assert await task.result() == "refunds: 2"

    assert "the tasks wait where they are, and nothing is charged: the disk" in alarm.message
    assert "the store commits again" in caplog.text
