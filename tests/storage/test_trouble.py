"""When the store cannot commit: everyone waits, nothing is lost or repeated, someone is told."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from everstep.storage import Alarm, SqliteStore, StoreFailed, StoreInUse
from everstep.testing import ManualClock
from tests.storage.kit import Life, Note, hold, lives, lose_patience, names, put_away, submit

BIG = b'"' + b"x" * 2_000_000 + b'"'
"""More than fits into the log of the store and what it may grow by under `full`."""


@contextmanager
def full(file: Path) -> Generator[None]:
    """No file may grow much beyond the size of the store's log, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = file.with_name(file.name + "-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def in_trouble(store: SqliteStore) -> bool:
    return store.trouble is not None


@contextmanager
def locked(file: Path) -> Generator[None]:
    """A stranger holds the lock for writing."""
    stranger = sqlite3.connect(file, isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        stranger.close()


@pytest.fixture
async def alarms(on_file: SqliteStore) -> list[Alarm | None]:
    """What the store has told its listener."""
    heard: list[Alarm | None] = []
    on_file.on_alarm(heard.append)
    return heard


@pytest.fixture
async def impatient(file: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    """A store that gives up after ten seconds."""
    store = SqliteStore(file, clock=clock, store_patience=10)
    await store.open()
    yield store
    await put_away(store, clock)


async def test_a_full_disk_holds_writes_up_until_there_is_room(
    on_file: SqliteStore, file: Path, clock: ManualClock, alarms: list[Alarm | None]
) -> None:
    one, other = await lives(on_file, 2)
    with full(file):
        first = submit(on_file, one.checkpoint(output=BIG))[0]
        await clock.until_waiting()
        second = submit(on_file, other.checkpoint())[0]
        ready = asyncio.create_task(on_file.ready())
        for _ in range(3):
            clock.advance(2)
            await clock.until_waiting()
        assert not first.settled.done()
        assert not second.settled.done()
        assert not ready.done()
        assert in_trouble(on_file)

    clock.advance(2)

    assert await first.settled is None
    assert await second.settled is None
    await ready
    assert not in_trouble(on_file)
    assert [alarm is None for alarm in alarms] == [False, True]
    ((_, row),) = await on_file.steps(one.key)
    assert row.output == BIG
    assert len((await on_file.log()).events) == 2


async def test_an_alarm_says_what_happened_and_what_to_do(
    on_file: SqliteStore, file: Path, clock: ManualClock, alarms: list[Alarm | None]
) -> None:
    (life,) = await lives(on_file, 1)
    with full(file):
        (note,) = submit(on_file, life.checkpoint(output=BIG))
        await clock.until_waiting()
        (alarm,) = alarms
        assert alarm is not None
        assert "the disk" in alarm.what
        assert isinstance(alarm.error, sqlite3.OperationalError)
    clock.advance(2)
    await note.settled


async def test_a_listener_that_fails_disturbs_neither_the_store_nor_the_others(
    on_file: SqliteStore, file: Path, clock: ManualClock
) -> None:
    def deaf(alarm: Alarm | None) -> None:
        raise RuntimeError("cannot hear")

    heard: list[Alarm | None] = []
    on_file.on_alarm(deaf)
    on_file.on_alarm(heard.append)
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: complaints.append(str(context["exception"]))
    )
    (life,) = await lives(on_file, 1)
    with full(file):
        (note,) = submit(on_file, life.checkpoint(output=BIG))
        await clock.until_waiting()
    clock.advance(2)

    assert await note.settled is None
    assert len(heard) == 2
    assert complaints == ["cannot hear"] * 2


async def test_pauses_grow_from_a_tenth_of_a_second_to_two(
    on_file: SqliteStore, file: Path, clock: ManualClock
) -> None:
    (life,) = await lives(on_file, 1)
    with full(file):
        (note,) = submit(on_file, life.checkpoint(output=BIG))
        for pause in (0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0):
            await clock.until_waiting()
            assert clock.waiting(within=pause - 0.01) == 0
            clock.advance(pause)
        await clock.until_waiting()
    clock.advance(2)

    assert await note.settled is None


async def test_a_store_whose_patience_is_over_settles_everything_and_takes_no_more(
    impatient: SqliteStore, file: Path, clock: ManualClock
) -> None:
    one, other = await lives(impatient, 2)
    with full(file):
        notes = submit(impatient, one.checkpoint(output=BIG))
        await clock.until_waiting()
        notes += submit(impatient, other.checkpoint())
        ready = asyncio.create_task(impatient.ready())
        await lose_patience(notes[0].settled, clock)

        assert names([await note.settled for note in notes]) == ["StoreFailed"] * 2
        with pytest.raises(StoreFailed, match="the disk"):
            await ready
        with pytest.raises(StoreFailed, match="the disk"):
            impatient.submit(Note(None))
        assert clock.monotonic() == pytest.approx(10, abs=2)


async def test_an_end_in_order_is_remembered_though_it_could_not_be_written(
    impatient: SqliteStore, file: Path, clock: ManualClock
) -> None:
    (life,) = await lives(impatient, 1)
    with full(file):
        (note,) = submit(impatient, life.checkpoint(output=BIG))
        await lose_patience(note.settled, clock)
        await impatient.close()

    await impatient.open()

    assert impatient.orderly_epochs == {1}
    assert impatient.epoch == 2
    assert [row.id for row in await impatient.orphans()] == [life.id]
    assert await impatient.steps(life.key) == []


async def test_closing_in_trouble_waits_as_long_as_patience_lasts(
    impatient: SqliteStore, file: Path, clock: ManualClock
) -> None:
    (life,) = await lives(impatient, 1)
    with full(file):
        (note,) = submit(impatient, life.checkpoint(output=BIG))
        closing = asyncio.create_task(impatient.close())
        await clock.until_waiting()
        assert not closing.done()
    clock.advance(0.1)

    await closing

    assert note.settled.result() is None


@pytest.mark.slow
@pytest.mark.real
async def test_a_stranger_that_holds_the_lock_is_waited_for(
    on_file: SqliteStore, file: Path, alarms: list[Alarm | None]
) -> None:
    (life,) = await lives(on_file, 1)
    with locked(file):
        (note,) = submit(on_file, life.checkpoint())
        while not alarms:
            await asyncio.wait({note.settled}, timeout=0.1)
        (alarm,) = alarms
        assert alarm is not None
        assert "another program holds the lock" in alarm.what

    assert await note.settled is None


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_file_that_was_taken_away_is_not_written_to(
    impatient: SqliteStore, file: Path, tmp_path: Path, clock: ManualClock, replaced: bool
) -> None:
    (life,) = await lives(impatient, 1)
    elsewhere = tmp_path / "elsewhere.db"
    move(file, elsewhere)
    if replaced:
        move(elsewhere, file, copy=True)
    (note,) = submit(impatient, life.checkpoint())
    await clock.until_waiting()
    assert impatient.trouble is not None
    told = "moved, removed or replaced" if replaced else "cannot be opened any more"
    assert told in impatient.trouble.what

    move(elsewhere, file)
    clock.advance(0.1)

    assert await note.settled is None
    assert len(await impatient.steps(life.key)) == 1


def move(source: Path, target: Path, copy: bool = False) -> None:
    if copy:
        target.write_bytes(source.read_bytes())
    else:
        source.replace(target)


async def test_a_store_taken_over_in_trouble_is_not_written_to(
    on_file: SqliteStore, file: Path, clock: ManualClock
) -> None:
    (life,) = await lives(on_file, 1)
    with full(file):
        (note,) = submit(on_file, life.checkpoint(output=BIG))
        await clock.until_waiting()
        taker = sqlite3.connect(file, isolation_level=None)
        taker.execute("UPDATE node SET epoch = epoch + 1")
        taker.close()
    clock.advance(2)

    assert names([await note.settled]) == ["LostLease"]


async def test_a_commit_during_which_the_loop_ends_is_neither_lost_nor_repeated(
    on_file: SqliteStore,
) -> None:
    (life,) = await lives(on_file, 1)
    notes = submit(on_file, life.checkpoint("0/a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    notes += submit(on_file, life.checkpoint("0/b"))
    (writer,) = [task for task in asyncio.all_tasks() if task.get_name() == "everstep writer"]

    writer.cancel()

    assert names([await note.settled for note in notes]) == ["", ""]
    assert len(await on_file.steps(life.key)) == 2
    assert len(await on_file.events(life.key)) == 2


async def test_a_store_in_trouble_still_owns_its_file(
    on_file: SqliteStore, file: Path, clock: ManualClock
) -> None:
    (life,) = await lives(on_file, 1)
    with full(file):
        (note,) = submit(on_file, life.checkpoint(output=BIG))
        await clock.until_waiting()
        with pytest.raises(StoreInUse):
            await SqliteStore(file, clock=clock).open()
    clock.advance(2)
    assert await note.settled is None
    await hold(on_file, Life(on_file, id="more").create())
