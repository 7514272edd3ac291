"""A file that cannot serve as a store is refused by name, and not changed."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from everstep.storage import (
    ForeignStore,
    NetworkFilesystem,
    SqliteStore,
    StoreError,
    StoreMissing,
    StoreTooNew,
    StoreUnreadable,
)
from everstep.storage.sqlite import opening, schema
from everstep.storage.sqlite.opening import network_filesystem
from everstep.testing import ManualClock
from tests.storage.kit import Life, hold


def write(path: Path, *statements: str) -> None:
    """Execute statements on a database, and close it."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.fixture
async def used(file: Path, clock: ManualClock) -> Path:
    """A store that holds a task, closed."""
    store = SqliteStore(file, clock=clock)
    await store.open()
    await hold(store, Life(store).create())
    await store.close()
    return file


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Iterator[None]:
    """Whatever happens in a test, no thread and no descriptor of it is left."""
    threads, files = set(threading.enumerate()), len(list(Path("/proc/self/fd").iterdir()))
    yield
    gc.collect()
    for thread in set(threading.enumerate()) - threads:
        thread.join(5)
    assert set(threading.enumerate()) <= threads
    assert len(list(Path("/proc/self/fd").iterdir())) <= files + 3  # those of the test's loop


def contents(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def make(file: Path, data: bytes) -> None:
    file.write_bytes(data)


async def refused(file: Path, clock: ManualClock, kind: type[StoreError], match: str) -> None:
    """Opening is refused, the bytes of the main file are the same, and it is not owned."""
    before = contents(file)
    store = SqliteStore(file, clock=clock)
    for _ in range(2):
        with pytest.raises(kind, match=match) as caught:
            await store.open()
        assert type(caught.value) is kind
        assert contents(file) == before


async def test_a_missing_directory_is_named(tmp_path: Path, clock: ManualClock) -> None:
    await refused(tmp_path / "no" / "tasks.db", clock, StoreMissing, "there is no directory")


async def test_a_directory_is_no_file(tmp_path: Path, clock: ManualClock) -> None:
    await refused(tmp_path, clock, StoreUnreadable, "is a directory")


async def test_a_pipe_or_a_device_is_no_ordinary_file(tmp_path: Path, clock: ManualClock) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path / "pipe", Path("/dev/null")):
        await refused(path, clock, StoreUnreadable, "a device, a pipe or a socket; give the path")


async def test_a_path_that_cannot_be_is_refused_as_such(tmp_path: Path, clock: ManualClock) -> None:
    store = SqliteStore(tmp_path / ("x" * 300), clock=clock)

    with pytest.raises(StoreUnreadable, match="cannot be looked at: File name too long; give"):
        await store.open()


@pytest.mark.parametrize(
    "junk", [b"x", b"hello, this is text\n" * 500, b"SQLite format 3\0", os.urandom(8192)]
)
async def test_a_file_that_is_no_database_is_refused(
    file: Path, clock: ManualClock, junk: bytes
) -> None:
    make(file, junk)

    await refused(file, clock, StoreUnreadable, "no database")


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE theirs (x)",
        "PRAGMA application_id = 4711",
        "PRAGMA user_version = 3",
    ],
)
async def test_another_programs_database_is_refused(
    file: Path, clock: ManualClock, mode: str, statement: str
) -> None:
    write(file, f"PRAGMA journal_mode = {mode}", statement)

    await refused(file, clock, ForeignStore, "belongs to another program")


async def test_another_programs_database_in_use_is_refused_with_its_log(
    file: Path, clock: ManualClock
) -> None:
    theirs = sqlite3.connect(file, isolation_level=None)
    theirs.execute("PRAGMA journal_mode = wal")
    theirs.execute("CREATE TABLE theirs (x)")
    log = file.with_name(file.name + "-wal").read_bytes()

    await refused(file, clock, ForeignStore, "theirs")

    assert file.with_name(file.name + "-wal").read_bytes() == log
    theirs.close()


def unfinished(file: Path) -> None:
    """Leave another program's database with a transaction that it did not finish."""
    made = file.with_name("theirs.db")
    theirs = sqlite3.connect(made, isolation_level=None)
    theirs.execute("PRAGMA cache_size = 2")
    theirs.execute("CREATE TABLE theirs (x)")
    theirs.execute("INSERT INTO theirs VALUES (zeroblob(90000))")
    theirs.execute("BEGIN")
    theirs.execute("UPDATE theirs SET x = randomblob(90000)")
    for end in ("", "-journal"):
        make(file.with_name(file.name + end), contents(file.with_name("theirs.db" + end)) or b"")
    theirs.close()


async def test_a_transaction_that_another_program_left_is_not_undone(
    file: Path, clock: ManualClock
) -> None:
    unfinished(file)

    await refused(file, clock, StoreUnreadable, "left a transaction unfinished")


async def test_a_newer_schema_is_refused(used: Path, clock: ManualClock) -> None:
    write(used, f"PRAGMA user_version = {schema.VERSION + 1}")

    await refused(used, clock, StoreTooNew, f"version {schema.VERSION + 1}")


async def test_a_truncated_store_is_refused(used: Path, clock: ManualClock) -> None:
    whole = contents(used)
    assert whole is not None
    make(used, whole[: len(whole) // 2])

    await refused(used, clock, StoreUnreadable, "cut short|damaged")


@pytest.mark.parametrize("page", [0, 1, 2, 3])
async def test_a_store_with_a_damaged_page_is_refused(
    used: Path, clock: ManualClock, page: int
) -> None:
    with used.open("r+b") as file:
        file.seek(page * 4096 + (100 if page == 0 else 0))
        file.write(b"\xff" * 2000)

    await refused(used, clock, StoreUnreadable, "damaged")


async def test_an_empty_file_becomes_a_store(file: Path, clock: ManualClock) -> None:
    make(file, b"")

    store = SqliteStore(file, clock=clock)
    await store.open()

    assert store.epoch == 1
    await store.close()


async def test_a_store_whose_making_was_cut_off_is_finished(file: Path, clock: ManualClock) -> None:
    write(file, "PRAGMA journal_mode = wal")

    store = SqliteStore(file, clock=clock)
    await store.open()

    await hold(store, Life(store).create())
    await store.close()


@pytest.mark.parametrize("name", ["a b.db", "100%.db", "what?.db", "#1.db", "ü.db"])
async def test_a_file_may_have_any_name(tmp_path: Path, clock: ManualClock, name: str) -> None:
    store = SqliteStore(tmp_path / name, clock=clock)

    await store.open()

    assert (tmp_path / name).exists()
    await store.close()


async def test_migrations_are_applied_once_and_one_by_one(
    used: Path,
) -> None:
    connection = sqlite3.connect(used, isolation_level=None)
    more = (*schema.MIGRATIONS, ("CREATE TABLE extra (x)",), ("INSERT INTO extra VALUES (1)",))

    schema.migrate(connection, more)
    schema.migrate(connection, more)

    assert connection.execute("SELECT x FROM extra").fetchall() == [(1,)]
    assert connection.execute("PRAGMA user_version").fetchone() == (len(more),)
    assert connection.execute("SELECT count(*) FROM task").fetchone() == (1,)
    connection.close()


async def test_a_migration_that_fails_leaves_the_version_before(used: Path) -> None:
    connection = sqlite3.connect(used, isolation_level=None)
    bad = (*schema.MIGRATIONS, ("CREATE TABLE extra (x)",), ("CREATE TABLE other (x)", "NONSENSE"))

    with pytest.raises(sqlite3.OperationalError):
        schema.migrate(connection, bad)

    assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS) + 1,)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    assert "extra" in names
    assert "other" not in names
    connection.close()


@pytest.mark.parametrize(("durability", "level"), [("full", 2), ("normal", 1)])
def test_pragmas_are_set_and_read_back(file: Path, durability: str, level: int) -> None:
    connection = sqlite3.connect(file, isolation_level=None)

    opening.set_pragmas(connection, durability)

    assert connection.execute("PRAGMA synchronous").fetchone() == (level,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_pragma_that_does_not_hold_is_an_error() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)

    with pytest.raises(sqlite3.OperationalError, match="journal_mode is 'memory'"):
        opening.set_pragmas(connection, "full")
    connection.close()


MOUNTS = """\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw
30 21 0:40 / /mnt/share rw shared:2 master:3 - nfs4 host:/share rw
31 30 8:2 / /mnt/share/local rw - xfs /dev/sdb rw
32 21 0:41 / /mnt/with\\040space rw - fuse.sshfs host: rw
33 21 8:3 / /mnt/over rw - ext4 /dev/sdc rw
34 33 0:42 / /mnt/over rw - cifs //host/over rw
nonsense
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/tasks.db", None),
        ("/mnt/share/tasks.db", "nfs4"),
        ("/mnt/share", "nfs4"),
        ("/mnt/shared/tasks.db", None),
        ("/mnt/share/local/tasks.db", None),
        ("/mnt/with space/tasks.db", "fuse.sshfs"),
        ("/mnt/over/tasks.db", "cifs"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_its_nearest_mount(
    path: str, kind: str | None
) -> None:
    assert network_filesystem(MOUNTS, path) == kind


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "lustre", "afs"])
def test_network_file_systems_are_known(kind: str) -> None:
    assert network_filesystem(f"1 0 0:1 / / rw - {kind} x rw", "/tasks.db") == kind


def test_a_network_file_system_is_refused_unless_allowed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_mounts", lambda: "1 0 0:1 / / rw - nfs4 host:/ rw")

    with pytest.raises(NetworkFilesystem, match="nfs4"):
        opening.check_place(file, allow_network_fs=False)
    opening.check_place(file, allow_network_fs=True)


OPEN = """
import asyncio, os, sys
from everstep.storage import SqliteStore, StoreError, SystemClock

async def attempt(store):
    try:
        await store.open()
    except StoreError as error:
        print(type(error).__name__, error)
    else:
        await store.close()
        print("opened")

store = SqliteStore(sys.argv[1], clock=SystemClock())
os.setuid(65534)
asyncio.run(attempt(store))
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that every user can reach, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made)
        path.chmod(0o777)
        yield path
        path.chmod(0o777)


@pytest.mark.real
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(
    ("protected", "mode", "told"),
    [
        ("tasks.db", 0o444, "StoreReadOnly .*the file is read-only"),
        ("tasks.db", 0o000, "StoreReadOnly .*the file is read-only"),
        (".", 0o555, "StoreReadOnly .*the directory .* is read-only"),
        ("tasks.db.lock", 0o444, "StoreReadOnly .*cannot be opened for writing"),
        ("tasks.db-wal", 0o666, "opened"),
    ],
)
async def test_what_a_user_may_not_write_is_refused(
    shared: Path, clock: ManualClock, protected: str, mode: int, told: str
) -> None:
    file = shared / "tasks.db"
    store = SqliteStore(file, clock=clock)
    await store.open()
    await store.close()
    before = file.read_bytes()
    for path in (file, lock_of(file), shared / "tasks.db-wal"):
        path.touch()
        path.chmod(0o666)
    (shared / protected).chmod(mode)

    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", OPEN, str(file)], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert re.search(told, done.stdout)
    assert told == "opened" or file.read_bytes() == before


def lock_of(file: Path) -> Path:
    return file.with_name(file.name + ".lock")


@pytest.mark.parametrize("turns", [0, 1, 2, 5, 10, 20, 50, 100, 200, 400, 800])
async def test_a_cancelled_opening_leaves_the_file_free(
    file: Path, clock: ManualClock, turns: int
) -> None:
    store = SqliteStore(file, clock=clock)
    opened = asyncio.create_task(store.open())
    for _ in range(turns):
        await asyncio.sleep(0)
    opened.cancel()
    try:
        await opened
    except asyncio.CancelledError:
        pass
    await store.close()

    other = SqliteStore(file, clock=clock)
    await other.open()
    await other.close()
