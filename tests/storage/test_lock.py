"""One process owns a file, and owns it once."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from everstep.storage import SqliteStore, StoreClosed, StoreError, StoreInUse, SystemClock
from everstep.storage.sqlite.lock import LockFile
from everstep.testing import ManualClock
from tests.storage.kit import Life, hold, lives, names, settle

OWNER = """
import asyncio, sys
from everstep.storage import SqliteStore, SystemClock

async def own():
    store = SqliteStore(sys.argv[1], clock=SystemClock())
    await store.open()
    print("owned", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await store.close()

asyncio.run(own())
"""

TRY = """
import asyncio, sys
from everstep.storage import SqliteStore, StoreInUse, SystemClock

async def attempt():
    store = SqliteStore(sys.argv[1], clock=SystemClock())
    try:
        await store.open()
    except StoreInUse as error:
        print(error)
    else:
        await store.close()
        print("free")

asyncio.run(attempt())
"""


@pytest.fixture
def owner(file: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the file."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "owned\n"
        yield process
        process.kill()


def attempt(file: Path) -> str:
    """What another process hears that tries to own the file."""
    done = subprocess.run(
        [sys.executable, "-c", TRY, str(file)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


async def still_serves(store: SqliteStore, file: Path) -> None:
    """The owner can write, and still is the owner."""
    await hold(store, Life(store, id="after").create())
    assert "has used it since" in await asyncio.to_thread(attempt, file)


@pytest.mark.real
async def test_a_second_process_is_told_who_owns_the_file(on_file: SqliteStore, file: Path) -> None:
    told = await asyncio.to_thread(attempt, file)

    assert f"process {os.getpid()} on " in told
    assert "Runtime(…, wait=seconds)" in told
    await still_serves(on_file, file)


@pytest.mark.real
@pytest.mark.parametrize("kind", ["path", "symlink", "hard link", "symlinked folder"])
async def test_a_second_store_in_the_process_is_refused_by_whatever_path(
    on_file: SqliteStore, file: Path, tmp_path: Path, clock: ManualClock, kind: str
) -> None:
    other = {
        "path": file,
        "symlink": tmp_path / "link.db",
        "hard link": tmp_path / "hard.db",
        "symlinked folder": tmp_path / "folder" / file.name,
    }[kind]
    if kind == "symlink":
        other.symlink_to(file)
    if kind == "hard link":
        other.hardlink_to(file)
    if kind == "symlinked folder":
        other.parent.symlink_to(tmp_path, target_is_directory=True)

    with pytest.raises(StoreInUse, match="of this process"):
        await SqliteStore(other, clock=clock).open()

    await still_serves(on_file, file)


async def test_a_file_with_two_names_is_refused(
    file: Path, tmp_path: Path, clock: ManualClock
) -> None:
    store = SqliteStore(file, clock=clock)
    await store.open()
    await store.close()
    (tmp_path / "second.db").hardlink_to(file)

    with pytest.raises(StoreError, match="2 names"):
        await store.open()


async def test_a_file_is_free_again_after_close_and_its_lock_file_stays(
    on_file: SqliteStore, file: Path, clock: ManualClock
) -> None:
    await on_file.close()

    other = SqliteStore(file, clock=clock)
    await other.open()
    await other.close()

    assert file.with_name("tasks.db.lock").exists()


@pytest.mark.real
async def test_a_killed_owners_file_opens_at_once(owner: subprocess.Popen[str], file: Path) -> None:
    with pytest.raises(StoreInUse, match=f"process {owner.pid} on"):
        await SqliteStore(file, clock=SystemClock()).open()

    owner.send_signal(signal.SIGKILL)
    owner.wait()

    store = SqliteStore(file, clock=SystemClock())
    await store.open()
    assert store.epoch == 2
    await store.close()


async def test_waiting_for_a_file_ends_when_it_is_free(
    on_file: SqliteStore, file: Path, clock: ManualClock
) -> None:
    other = SqliteStore(file, clock=clock, wait=5)
    opening = asyncio.create_task(other.open())
    await clock.until_waiting()
    await on_file.close()

    clock.advance(0.1)
    await opening

    await hold(other, Life(other).create())
    await other.close()


async def test_waiting_for_a_file_ends_when_the_time_is_over(
    on_file: SqliteStore, file: Path, clock: ManualClock
) -> None:
    opening = asyncio.create_task(SqliteStore(file, clock=clock, wait=0.15).open())
    for seconds in (0.1, 0.05):
        await clock.until_waiting()
        assert not opening.done()
        clock.advance(seconds)

    with pytest.raises(StoreInUse):
        await opening


async def test_a_cancelled_wait_leaves_nothing(
    on_file: SqliteStore, file: Path, clock: ManualClock
) -> None:
    opening = asyncio.create_task(SqliteStore(file, clock=clock, wait=5).open())
    await clock.until_waiting()

    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening

    assert clock.waiting() == 0
    await hold(on_file, Life(on_file).create())


@pytest.mark.real
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
async def test_a_forked_child_neither_owns_the_file_nor_disturbs_the_owner(
    on_file: SqliteStore, file: Path
) -> None:
    await lives(on_file, 1)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, "\n".join(in_child(on_file, file)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    await asyncio.to_thread(os.waitpid, child, 0)
    with os.fdopen(reading) as told:
        used, opened = told.read().splitlines()

    assert used.startswith("StoreClosed")
    assert "fork" in used
    assert opened.startswith("StoreInUse")
    await still_serves(on_file, file)


def in_child(store: SqliteStore, file: Path) -> list[str]:
    """What a forked child hears, of its parent's store and of one of its own."""

    async def own() -> None:
        await SqliteStore(file, clock=SystemClock()).open()

    heard: list[str] = []
    asyncio.events._set_running_loop(None)
    for use in (store.new_key, lambda: asyncio.new_event_loop().run_until_complete(own())):
        try:
            use()
        except (StoreClosed, StoreInUse) as error:
            heard.append(f"{type(error).__name__} {error}")
    return heard


@pytest.mark.real
@pytest.mark.parametrize("text", ["", "{", "[1]", '{"pid": 1}', "x" * 600])
async def test_a_lock_file_with_any_contents_can_be_taken(
    file: Path, clock: ManualClock, text: str
) -> None:
    file.with_name("tasks.db.lock").write_text(text)

    store = SqliteStore(file, clock=clock)
    await store.open()

    assert f"process {os.getpid()} on " in await asyncio.to_thread(attempt, file)
    await store.close()


async def test_a_lock_that_is_no_file_is_refused(file: Path, clock: ManualClock) -> None:
    file.with_name("tasks.db.lock").mkdir()

    with pytest.raises(StoreError, match="cannot be opened"):
        await SqliteStore(file, clock=clock).open()


async def test_a_fifo_is_no_lock_file(file: Path, clock: ManualClock) -> None:
    os.mkfifo(file.with_name("tasks.db.lock"))

    with pytest.raises(StoreError, match="no ordinary file"):
        await SqliteStore(file, clock=clock).open()


async def test_an_owner_that_lost_its_lock_file_loses_to_the_next(
    on_file: SqliteStore, file: Path
) -> None:
    (life,) = await lives(on_file, 1)
    await asyncio.to_thread(file.with_name("tasks.db.lock").unlink)
    assert await asyncio.to_thread(attempt, file) == "free"

    assert names(await settle(on_file, life.checkpoint())) == ["LostLease"]


async def test_a_note_that_cannot_be_written_is_left_aside(file: Path, clock: ManualClock) -> None:
    lock = await LockFile.acquire(file, clock, 0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        lock.note_orderly(7)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        lock.release()


async def test_a_note_of_an_orderly_end_outlives_the_next_owners(
    file: Path, clock: ManualClock
) -> None:
    lock = await LockFile.acquire(file, clock, 0)
    length = file.with_name("tasks.db.lock").stat().st_size
    lock.note_orderly(7)
    assert file.with_name("tasks.db.lock").stat().st_size == length
    lock.release()

    for _ in range(2):
        lock = await LockFile.acquire(file, clock, 0)
        assert lock.orderly_epochs == {7}
        lock.release()

    lock = await LockFile.acquire(file, clock, 0)
    lock.note_orderly(8)
    assert lock.orderly_epochs == {7, 8}
    lock.release()
