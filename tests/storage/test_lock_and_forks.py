"""A lock is of one opening of its file: closing others drops nothing, and no child keeps it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from everstep.storage import SqliteStore, StoreInUse, SystemClock
from everstep.storage.sqlite.lock import LockFile
from everstep.testing import ManualClock

OWNER = """
import asyncio, multiprocessing, os, subprocess, sys
from everstep.storage import SqliteStore, SystemClock

def outlive():
    print("up", flush=True)
    os.read(0, 1)
    os._exit(0)

def by_fork():
    if os.fork() == 0:
        outlive()

def by_multiprocessing():
    sys.stdin = os.fdopen(os.dup(0))
    context = multiprocessing.get_context("fork")
    context.Process(target=outlive).start()

def by_subprocess():
    program = "import sys; print('up', flush=True); sys.stdin.read()"
    subprocess.Popen([sys.executable, "-c", program], close_fds=False)

async def own():
    store = SqliteStore(sys.argv[1], clock=SystemClock())
    await store.open()
    globals()[sys.argv[2]]()
    await asyncio.get_running_loop().create_future()

asyncio.run(own())
"""

HOLDER = """
import fcntl, sys
with open(sys.argv[1], "r+") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextmanager
def running(*program: str) -> Generator[subprocess.Popen[str]]:
    """A program that has said its first line; what it has begun ends with its input."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-W", "ignore", "-c", *program]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), process.communicate()
        try:
            yield process
        finally:
            process.kill()


def lock_of(file: Path) -> Path:
    return file.with_name(file.name + ".lock")


@pytest.mark.real
@pytest.mark.parametrize("way", ["by_fork", "by_multiprocessing", "by_subprocess"])
async def test_a_child_that_outlives_the_owner_does_not_keep_the_file(file: Path, way: str) -> None:
    with running(OWNER, str(file), way) as owner:
        with pytest.raises(StoreInUse, match=f"process {owner.pid} on"):
            await SqliteStore(file, clock=SystemClock()).open()
        owner.kill()
        await asyncio.to_thread(owner.wait)

        store = SqliteStore(file, clock=SystemClock(), wait=15)  # it may just have been forked
        await store.open()
        await store.close()


@pytest.mark.real
async def test_closing_the_lock_file_elsewhere_in_the_process_drops_nothing(
    on_file: SqliteStore, file: Path
) -> None:
    lock_of(file).read_bytes()

    with (
        pytest.raises(AssertionError, match="BlockingIOError"),
        running(HOLDER, str(lock_of(file))),
    ):
        pass


@pytest.mark.real
async def test_a_lock_of_an_older_version_is_seen(file: Path, clock: ManualClock) -> None:
    """Those were of the process, as `lockf` makes them."""
    lock_of(file).write_text('{"pid": 7, "host": "here", "started_at": 0}')
    holding, refused = (
        running(HOLDER, str(lock_of(file))),
        pytest.raises(StoreInUse, match="process 7"),
    )
    with holding, refused:
        await LockFile.acquire(file, clock, 0)

    (await LockFile.acquire(file, clock, 0)).release()


async def test_a_released_file_is_free_while_a_copy_of_the_descriptor_lives(
    file: Path, clock: ManualClock
) -> None:
    """As in a child of another thread that has not come to its `exec` yet."""
    lock = await LockFile.acquire(file, clock, 0)
    copy = os.dup(descriptor_of(lock_of(file)))
    lock.release()

    (await LockFile.acquire(file, clock, 0)).release()
    os.close(copy)


def descriptor_of(path: Path) -> int:
    """The one with which this process has the file open."""
    sought = path.stat()
    for descriptor in range(3, 1024):
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), sought):
                return descriptor
    raise LookupError(path)
