"""What processes do to a store: they die, never close it, and keep their loop busy."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from everstep.storage import SqliteStore, SystemClock
from tests.storage.kit import Life, lives, submit

pytestmark = pytest.mark.real

START = """
import asyncio, sys
from everstep.storage import SqliteStore, SystemClock
from tests.storage.kit import Life, hold, lives

async def start():
    store = SqliteStore(sys.argv[1], clock=SystemClock())
    await store.open()
    return store
"""

STREAM = (
    START
    + """
async def stream():
    store = await start()
    made = await lives(store, 20)

    async def one(life):
        number = 0
        while True:
            number += 1
            await hold(store, life.checkpoint(f"0/{number}"))
            print(life.id, number, flush=True)

    await asyncio.gather(*[one(life) for life in made])

asyncio.run(stream())
"""
)

NEVER_CLOSED = (
    START
    + """
async def leave():
    asyncio.get_running_loop().slow_callback_duration = 60  # a busy machine is no fault of ours
    store = await start()
    await lives(store, 3)
    %s

asyncio.run(leave())
"""
)

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("acknowledged", [1, 300, 2000])
async def test_kill_9_loses_nothing_that_was_acknowledged(file: Path, acknowledged: int) -> None:
    newest = await asyncio.to_thread(killed_after, file, acknowledged)

    store = SqliteStore(file, clock=SystemClock())
    await store.open()
    for row in await store.tasks():
        steps = await store.steps(row.key, limit=100_000)
        events = await store.events(row.key, limit=100_000)
        assert len(steps) >= newest.get(row.id, 0)
        assert len(steps) == len(events) == row.progress.seq == row.progress.event_seq
    assert [row.id for row in await store.orphans()] == [f"task-{n}" for n in range(20)]
    await store.close()


def killed_after(file: Path, acknowledged: int) -> dict[str, int]:
    """Kill a process after so many acknowledged commits; the newest of each task."""
    newest: dict[str, int] = {}
    with subprocess.Popen(
        [sys.executable, "-c", STREAM, str(file)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        for _ in range(acknowledged):
            life, number = process.stdout.readline().split()
            newest[life] = int(number)
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            if line.endswith("\n"):
                life, number = line.split()
                newest[life] = int(number)
    return newest


@pytest.mark.parametrize("how", ["pass", "raise SystemExit(0)", "asyncio.create_task(start())"])
async def test_a_process_that_never_closed_its_store_ends(file: Path, how: str) -> None:
    began = time.monotonic()
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", NEVER_CLOSED % how, str(file)],
        capture_output=True,
        text=True,
        timeout=20,
        cwd=ROOT,
    )

    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 20
    store = SqliteStore(file, clock=SystemClock())
    await store.open()
    assert len(await store.orphans()) == 3
    await store.close()


async def test_a_store_that_is_closed_leaves_no_warning(file: Path) -> None:
    done = await asyncio.to_thread(
        subprocess.run,
        [
            sys.executable,
            "-X",
            "dev",
            "-W",
            "error",
            "-c",
            NEVER_CLOSED % "await store.close()",
            str(file),
        ],
        capture_output=True,
        text=True,
        timeout=20,
        cwd=ROOT,
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
async def test_a_busy_loop_does_not_stop_commits(file: Path) -> None:
    store = SqliteStore(file, clock=SystemClock())
    await store.open()
    (life,) = await lives(store, 1)
    busy = asyncio.create_task(hog())
    written = 0
    until = time.monotonic() + 2
    while time.monotonic() < until:
        (note,) = submit(store, life.checkpoint(f"0/{written}"))
        await note.settled
        written += 1
    busy.cancel()
    await store.close()

    assert written >= 20


async def hog() -> None:
    """Compute for 100 µs and yield, for ever."""
    while True:
        until = time.perf_counter() + 1e-4
        while time.perf_counter() < until:
            pass
        await asyncio.sleep(0)


@pytest.mark.slow
async def test_a_busy_loop_does_not_stop_reads(file: Path) -> None:
    store = SqliteStore(file, clock=SystemClock())
    await store.open()
    (life,) = await lives(store, 1)
    busy = asyncio.create_task(hog())
    read = 0
    until = time.monotonic() + 1
    while time.monotonic() < until:
        assert await store.task(life.id) is not None
        read += 1
    busy.cancel()
    await store.close()

    assert read >= 10


async def test_the_log_is_empty_after_close(file: Path) -> None:
    store = SqliteStore(file, clock=SystemClock())
    await store.open()
    await lives(store, 100)
    assert file.with_name("tasks.db-wal").stat().st_size > 0

    await store.close()

    left = await asyncio.to_thread(os.listdir, file.parent)
    assert sorted(left) == ["tasks.db", "tasks.db.lock"]


async def test_two_stores_serve_one_process(tmp_path: Path) -> None:
    stores = [SqliteStore(tmp_path / name, clock=SystemClock()) for name in ("a.db", "b.db")]
    for store in stores:
        await store.open()
        life = Life(store)
        (note,) = submit(store, life.create())
        assert await note.settled is None
    for store in stores:
        await store.close()
