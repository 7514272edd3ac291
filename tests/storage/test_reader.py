"""A read is tried again while the disk fails, as long as patience lasts."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from everstep.storage import Commit, SqliteStore, StoreClosed, StoreFailed, StoreUnreadable
from everstep.storage.sqlite.executor import ThreadExecutor
from everstep.storage.sqlite.opening import uri_of
from everstep.storage.sqlite.reader import Reader
from everstep.storage.sqlite.thread import ConnectionThread, to_the_end
from everstep.testing import ManualClock
from tests.storage.kit import Life, hold, settle

T = TypeVar("T")


class Failing:
    """An executor of a disk that fails a number of times."""

    def __init__(self, times: int, error: sqlite3.Error) -> None:
        self.left = times
        self.error = error
        self.reopened = 0
        self.connection = sqlite3.connect(":memory:")

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        if self.left:
            self.left -= 1
            raise self.error
        return function(self.connection)

    async def reopen(self) -> None:
        self.reopened += 1

    async def close(self) -> None:
        self.connection.close()


def one(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("SELECT 1").fetchone()
    return int(number)


IO_ERROR = sqlite3.OperationalError("disk I/O error")


async def test_a_read_that_fails_once_is_done_again_at_once(clock: ManualClock) -> None:
    disk = Failing(1, IO_ERROR)

    assert await Reader("tasks.db", disk, clock, 60).run(one) == 1

    assert disk.reopened == 1
    await disk.close()


async def test_a_read_gives_up_when_patience_is_over(clock: ManualClock) -> None:
    disk = Failing(1000, IO_ERROR)
    reading = asyncio.create_task(Reader("tasks.db", disk, clock, 3).run(one))
    for _ in range(6):
        await clock.until_waiting()
        clock.advance(min(2, 3 - clock.monotonic()))
        await asyncio.sleep(0)
        if clock.monotonic() >= 3:
            break

    with pytest.raises(StoreFailed, match="cannot be read"):
        await reading
    await disk.close()


def _wrong_statement() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("no such column: wrong")
    error.sqlite_errorcode = sqlite3.SQLITE_ERROR
    return error


@pytest.mark.parametrize("error", [sqlite3.ProgrammingError("wrong"), _wrong_statement()], ids=str)
async def test_a_mistake_in_a_read_is_not_repeated(
    clock: ManualClock, error: sqlite3.DatabaseError
) -> None:
    disk = Failing(1, error)

    with pytest.raises(type(error), match="wrong"):
        await Reader("tasks.db", disk, clock, 60).run(one)
    assert disk.reopened == 0
    await disk.close()


async def test_a_read_that_waits_ends_when_the_store_is_closed(clock: ManualClock) -> None:
    disk = Failing(1000, IO_ERROR)
    reader = Reader("tasks.db", disk, clock, 60)
    reading = asyncio.create_task(reader.run(one))
    await clock.until_waiting()

    await reader.close()
    clock.advance(2)

    with pytest.raises(StoreClosed):
        await reading


async def test_a_task_without_a_snapshot_is_named(on_file: SqliteStore) -> None:
    life = Life(on_file)
    created = life.create()
    bare = Commit(created.task, created.task_id, None, created.after, created.new)
    assert await settle(on_file, bare) == [None]

    with pytest.raises(StoreUnreadable, match="'report-7' has no snapshot"):
        await on_file.load(life.key, flow=True)


@pytest.fixture
async def executor(file: Path) -> AsyncIterator[ThreadExecutor]:
    made = ThreadExecutor(uri_of(file, "rwc"), lambda connection: None)
    await made.open()
    yield made
    await made.close()


async def test_two_that_reopen_at_once_leave_one_connection(executor: ThreadExecutor) -> None:
    await asyncio.gather(*[executor.reopen() for _ in range(5)])

    assert await executor.run(one) == 1


async def test_an_executor_that_is_closed_stays_closed(executor: ThreadExecutor) -> None:
    await executor.close()

    with pytest.raises(sqlite3.OperationalError, match="not open"):
        await executor.run(one)
    with pytest.raises(sqlite3.OperationalError, match="has been closed"):
        await executor.reopen()


async def test_a_connection_that_cannot_be_prepared_is_closed(file: Path) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("no")

    executor = ThreadExecutor(uri_of(file, "rwc"), fail)

    with pytest.raises(sqlite3.OperationalError, match="no"):
        await executor.open()
    await executor.close()


async def test_functions_of_the_user_can_still_be_added(file: Path) -> None:
    thread = await ConnectionThread.open(uri_of(file, "rwc"))

    def add(connection: sqlite3.Connection) -> int:
        connection.create_function("size", 1, len, deterministic=True)
        (number,) = connection.execute("SELECT size('four')").fetchone()
        return int(number)

    assert await thread.run(add) == 4
    await thread.close()
    await thread.close()


async def test_a_cancelled_connect_leaves_no_connection(file: Path) -> None:
    for turns in range(4):
        opening = asyncio.create_task(ConnectionThread.open(uri_of(file, "rwc")))
        for _ in range(turns):
            await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening


async def test_what_is_awaited_to_the_end_keeps_its_error_to_itself_when_cancelled() -> None:
    gate = asyncio.Event()

    async def fail() -> None:
        await gate.wait()
        raise ValueError("unheard")

    waiting = asyncio.create_task(to_the_end(asyncio.create_task(fail())))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()

    gate.set()

    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_reads_and_writes_go_on_side_by_side(on_file: SqliteStore) -> None:
    made = [Life(on_file, id=f"task-{number}") for number in range(200)]

    async def write() -> None:
        for life in made:
            await hold(on_file, life.create())

    async def read() -> int:
        seen = 0
        while seen < len(made):
            rows = await on_file.tasks(limit=1000)
            assert len(rows) >= seen
            seen = len(rows)
        return seen

    _, seen = await asyncio.gather(write(), read())

    assert seen == 200
