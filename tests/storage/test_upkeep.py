"""The write-ahead log stays small, and queries find their rows by an index."""

from __future__ import annotations

import gc
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from everstep.storage import MemoryStore, Share, SqliteStore, Status, StoreClosed, TaskNotFound
from everstep.storage.sqlite import event_log, messages, queries, waits
from everstep.storage.sqlite.forgetting import forget
from everstep.storage.sqlite.lock import LockFile
from everstep.storage.sqlite.schema import migrate
from everstep.storage.sqlite.upkeep import FileUpkeep, truncate
from everstep.testing import ManualClock
from tests.storage.kit import Life, hold, lives

Query = Callable[[sqlite3.Connection], object]
SHARES = [Share(0, None, 10)]
STOPPED = [Status.CANCELLED, Status.FAILED, Status.PAUSED]

BY_INDEX: list[tuple[Query, str]] = [
    (lambda c: queries.claimable(c, "tasks", SHARES, ["A"], 1.0, 1.0, 2), "task_queued"),
    (lambda c: queries.suspects(c, "tasks", ["A"], 2, 10), "task_suspect"),
    (lambda c: queries.next_due(c, "tasks", 1.0, None), "task_due"),
    (lambda c: queries.orphans(c, 5, 0, 10), "task_running"),
    (lambda c: queries.orphans(c, 5, 0, 10), "task_resting"),
    (lambda c: waits.due_waits(c, "tasks", 1.0, 1.0, 10), "task_due_by_boot"),
    (lambda c: waits.due_waits(c, "tasks", 1.0, 1.0, 10), "task_due_by_wall"),
    (lambda c: waits.next_wait(c, "tasks", 1.0, 1.0), "task_due_by_boot"),
    (lambda c: waits.next_wait(c, "tasks", 1.0, 1.0), "task_due_by_wall"),
    (lambda c: waits.open_waits(c, [1]), "sqlite_autoindex_step_1"),
    (lambda c: messages.messages(c, 1, 0, 10), "message_untaken"),
    (lambda c: messages.recipient(c, "id"), "message_untaken"),
    (lambda c: messages.request(c, 1, "id"), "sqlite_autoindex_message_1"),
    (lambda c: messages.questions(c, 0, 10), "step_asked"),
    (lambda c: queries.open_steps(c, [1]), "sqlite_autoindex_step_1"),
    (lambda c: queries.steps_page(c, 1, 0, -1, "", 10), "sqlite_autoindex_step_1"),
    (lambda c: queries.appends_page(c, 1, 0, "", 10), "sqlite_autoindex_step_1"),
    (lambda c: event_log.events(c, 1, 0, 10), "sqlite_autoindex_event_1"),
    (lambda c: queries.effects(c, 1), "effect_task"),
    (lambda c: queries.task(c, "id"), "sqlite_autoindex_task_1"),
    (lambda c: queries.tasks(c, [Status.FAILED], [], None, None, None, 7, 9), "task_stopped"),
    (lambda c: queries.tasks(c, list(STOPPED), ["A"], "p", "l", None, 7, 9), "task_stopped"),
    (lambda c: queries.tasks(c, [Status.FAILED], [], None, None, 3, 7, 9), "task_child"),
]


@pytest.fixture
def database(file: Path) -> Iterator[sqlite3.Connection]:
    """A database with a log, whose automatic checkpoints are off."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE data (x)")
    yield connection
    connection.close()


def grow(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO data VALUES (?)", (b"x" * 100_000,))


def log_size(file: Path) -> int:
    return file.with_name(file.name + "-wal").stat().st_size


async def test_a_log_that_outgrew_its_limit_is_emptied(
    file: Path, database: sqlite3.Connection, clock: ManualClock
) -> None:
    lock = await LockFile.acquire(file, clock, 0)
    upkeep = FileUpkeep(file, lock, limit=150_000)
    sizes: list[int] = []

    for _ in range(6):
        grow(database)
        upkeep.after(database)
        sizes.append(log_size(file))

    assert 0 in sizes
    assert max(sizes) < 300_000
    lock.release()


async def test_a_reader_in_the_way_puts_off_the_emptying_but_blocks_nobody(
    file: Path, database: sqlite3.Connection, clock: ManualClock
) -> None:
    lock = await LockFile.acquire(file, clock, 0)
    upkeep = FileUpkeep(file, lock, limit=150_000)
    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM data").fetchone()
    for _ in range(4):
        grow(database)
        upkeep.after(database)
    assert log_size(file) > 300_000

    reader.close()
    for _ in range(4):
        grow(database)
        upkeep.after(database)

    assert log_size(file) < 300_000
    lock.release()


def test_emptying_a_log_reports_no_error_of_the_disk() -> None:
    closed = sqlite3.connect(":memory:")
    closed.close()

    assert truncate(closed) is False


@pytest.mark.parametrize(("query", "index"), BY_INDEX)
def test_a_query_finds_its_rows_by_an_index(query: Query, index: str) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    query(connection)
    connection.set_trace_callback(None)

    (read,) = [one for one in asked if "SELECT" in one]
    plan = [str(row) for row in connection.execute(f"EXPLAIN QUERY PLAN {read}")]

    assert any(index in line for line in plan), plan
    connection.close()


def test_what_a_server_has_handled_is_forgotten_by_an_index() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    forget(connection, 1, 5, 10)
    connection.set_trace_callback(None)

    for statement in asked:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert not [line for line in plan if line.startswith("SCAN")], plan
    connection.close()


@pytest.mark.parametrize("filters", [([], [], None), (["step_failed"], ["Report"], "tasks")])
async def test_a_page_of_the_log_of_all_tasks_is_found_by_its_place(
    file: Path, clock: ManualClock, filters: tuple[list[str], list[str], str | None]
) -> None:
    store = SqliteStore(file, clock=clock)
    await store.open()
    (life,) = await lives(store, 1)
    await hold(store, life.event())
    await store.close()
    connection = sqlite3.connect(file, isolation_level=None)
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    event_log.log(connection, 0, 100, *filters)
    connection.set_trace_callback(None)

    reads = [one for one in asked if "SELECT" in one]
    plans = [row[3] for one in reads for row in connection.execute(f"EXPLAIN QUERY PLAN {one}")]

    places = "SEARCH event USING INTEGER PRIMARY KEY"
    assert len(reads) == 2 and sum(places in line for line in plans) == 2
    sorted_or_read_whole = [line for line in plans if "TEMP" in line or "SCAN event" in line]
    assert not sorted_or_read_whole
    connection.close()


def test_claiming_needs_no_sorting() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    queries.claimable(connection, "tasks", SHARES, ["A"], 1.0, 1.0, 2)
    connection.set_trace_callback(None)

    plan = [str(row) for row in connection.execute(f"EXPLAIN QUERY PLAN {asked[1]}")]

    assert not [line for line in plan if "TEMP B-TREE" in line]
    connection.close()


async def test_memory_is_kept_over_a_close_and_freed_with_the_store(clock: ManualClock) -> None:
    store = MemoryStore(clock=clock)
    await store.open()
    await lives(store, 1)
    await store.close()
    await store.open()
    assert await store.task("task-0") is not None
    await store.close()

    gone = weakref.ref(store)
    del store
    gc.collect()

    assert gone() is None


async def test_a_discarded_store_is_not_opened_again(clock: ManualClock) -> None:
    store = MemoryStore(clock=clock)

    store.discard()
    store.discard()

    with pytest.raises(StoreClosed, match="discarded"):
        await store.open()


async def test_a_store_that_was_never_opened_says_so(file: Path, clock: ManualClock) -> None:
    store = SqliteStore(file, clock=clock)

    with pytest.raises(StoreClosed, match="not been opened"):
        await store.task("x")
    assert store.trouble is None
    assert repr(store) == f"<SqliteStore {file}: it has not been opened>"
    await store.close()


async def test_a_store_can_be_opened_again(on_file: SqliteStore) -> None:
    for number in range(3):
        await hold(on_file, Life(on_file, id=str(number)).create())
        await on_file.close()
        await on_file.open()

    assert len(await on_file.tasks()) == 3
    with pytest.raises(TaskNotFound):
        await on_file.load(99, flow=False)
