"""What the store tells of itself as a whole."""

from __future__ import annotations

import logging
import os
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from everstep.storage import MemoryStore, SqliteStore, Status, Store, TreeRow
from everstep.storage.sqlite import overview
from everstep.storage.sqlite.schema import MIGRATIONS, migrate
from everstep.testing import ManualClock
from tests.storage.kit import Life, hold

T = TypeVar("T")


async def with_tree(store: Store, tree: str | None) -> TreeRow | None:
    """The tree that is known after the store was opened with one."""
    await store.close()
    await store.open(tree=tree)
    return await store.tree()


# --- the tree -------------------------------------------------------------------------------


async def test_a_store_knows_no_tree_until_it_is_opened_with_one(store: Store) -> None:
    assert await store.tree() is None


async def test_a_store_knows_the_newest_tree_it_was_opened_with(
    store: Store, clock: ManualClock
) -> None:
    first = await with_tree(store, '{"name": "first"}')
    then = clock.now()
    second = await with_tree(store, '{"name": "second"}')

    assert first == TreeRow(2, then, '{"name": "first"}')
    assert second == TreeRow(3, then, '{"name": "second"}')


async def test_a_tree_stays_known_when_the_store_is_opened_without_one(store: Store) -> None:
    first = await with_tree(store, "{}")

    assert await with_tree(store, None) == first
    assert store.epoch == 3


async def test_a_tree_that_cannot_be_kept_fails_nothing(
    file: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(file, clock=clock)
    await store.open(tree='"kept"')
    await store.close()
    connection = sqlite3.connect(file)
    connection.execute(
        "CREATE TRIGGER no BEFORE UPDATE ON tree BEGIN SELECT RAISE(ABORT, 'not today'); END"
    )
    connection.close()

    with caplog.at_level(logging.WARNING, "everstep"):
        await store.open(tree='"refused"')

    await hold(store, Life(store).create())
    kept = await store.tree()
    assert (store.epoch, kept and kept.epoch, kept and kept.outline) == (2, 1, '"kept"')
    assert "not today" in caplog.text
    await store.close()


# --- the tasks ------------------------------------------------------------------------------


@pytest.fixture
async def memory(clock: ManualClock) -> AsyncIterator[MemoryStore]:
    store = MemoryStore(clock=clock)
    await store.open()
    yield store
    await store.close()


async def task(
    store: Store, name: str, pool: str = "tasks", lane: str | None = None, **changes: Any
) -> None:
    made = Life(store, id=name, pool=pool).create(**changes)
    assert made.new is not None
    await hold(store, made._replace(new=made.new._replace(lane=lane)))


async def read(store: MemoryStore, function: Callable[[sqlite3.Connection], T]) -> T:
    return await store._reading().run(function)


async def test_tasks_are_counted_by_pool_and_status(memory: MemoryStore) -> None:
    await task(memory, "a")
    await task(memory, "b")
    await task(memory, "c", status=Status.PAUSED)
    await task(memory, "d", pool="agents", status=Status.FAILED)

    assert await read(memory, overview.counts) == {
        "agents": {Status.FAILED: 1},
        "tasks": {Status.PAUSED: 1, Status.QUEUED: 2},
    }


@pytest.mark.parametrize(
    ("since_boot", "expected"),
    [
        (10.0, (3, 4.0)),  # by the seconds since boot, where there are some
        (None, (2, 2.0)),  # after another boot by the wall clock, never longer than was chosen
    ],
)
async def test_what_is_due_is_measured_as_for_those_who_claim(
    memory: MemoryStore, since_boot: float | None, expected: tuple[int, float]
) -> None:
    await task(memory, "at once")
    await task(memory, "was due", due_at=99.0, due_delay=5.0)
    await task(memory, "boot says now", due_at=150.0, due_boot=9.0, due_delay=2.0)
    await task(memory, "boot says soon", due_at=107.0, due_boot=14.0, due_delay=9.0)
    await task(memory, "elsewhere", pool="agents", due_at=100.5)
    await task(memory, "paused", status=Status.PAUSED)

    backlog = await read(memory, lambda it: overview.backlog(it, "tasks", 100.0, since_boot))

    assert backlog == expected


async def test_the_newest_tasks_of_a_status_come_first(memory: MemoryStore) -> None:
    for number in range(4):
        await task(memory, f"t{number}", status=Status.FAILED, updated_at=float(number), crashes=1)

    newest = await read(memory, lambda it: overview.newest(it, "tasks", Status.FAILED, 2))

    assert [(one.id, one.actor, one.crashes, one.updated_at) for one in newest] == [
        ("t3", "Report", 1, 3.0),
        ("t2", "Report", 1, 2.0),
    ]


async def test_suspects_are_counted_and_the_newest_named(memory: MemoryStore) -> None:
    for number in range(4):
        await task(memory, f"t{number}", deaths=number, death_epoch=number)

    found = await read(memory, lambda it: overview.suspects(it, "tasks", 2, 1))

    assert found.total == 2
    assert [(one.id, one.deaths) for one in found.newest] == [("t3", 3)]


async def test_lanes_are_those_with_most_to_do(memory: MemoryStore) -> None:
    for number, lane in enumerate([None, "a", "b", "b", "c", "b", "c"]):
        await task(memory, f"t{number}", lane=lane)
    await task(memory, "running", lane="b", status=Status.RUNNING)
    await task(memory, "over", lane="a", status=Status.FAILED)

    lanes = await read(memory, lambda it: overview.lanes(it, "tasks", 2))

    assert lanes == [("b", 3, 1), ("c", 2, 0)]


async def test_the_owner_is_whoever_opened_the_store_last(memory: MemoryStore) -> None:
    found = await read(memory, overview.owner)

    assert (found.epoch, found.pid, found.host) == (1, os.getpid(), socket.gethostname())


def test_a_store_of_the_first_version_can_be_read() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, MIGRATIONS[:1])

    assert overview.tree(connection) is None
    assert overview.owner(connection).epoch == 0
    assert overview.counts(connection) == {}
    assert overview.backlog(connection, "tasks", 1.0, None) == (0, None)
    assert overview.newest(connection, "tasks", Status.PAUSED, 3) == []
    assert overview.suspects(connection, "tasks", 2, 3) == (0, [])
    assert overview.lanes(connection, "tasks", 3) == []
    connection.close()
