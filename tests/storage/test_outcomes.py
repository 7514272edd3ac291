"""A batch of which nobody heard whether it was committed is written once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from everstep.storage import Commit, NewTask
from everstep.storage.sqlite.batch import (
    Batch,
    read_node,
    write_batch,
    write_unless_committed,
    write_unless_synced,
)
from everstep.storage.sqlite.opening import set_pragmas
from everstep.storage.sqlite.schema import migrate
from tests.storage.kit import QUEUED, event_row, names

WAYS = [write_unless_committed, write_unless_synced]

Way = Callable[[sqlite3.Connection, Batch], None]


@pytest.fixture
def database(file: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(file, isolation_level=None)
    set_pragmas(connection, "full")
    migrate(connection)
    connection.execute("UPDATE node SET epoch = 1")
    yield connection
    connection.close()


def batch(number: int = 1) -> Batch:
    """A batch of two tasks, of which the second has the id of the first."""
    commits = [
        Commit(
            key,
            "same",
            None,
            QUEUED,
            NewTask(key, "same", "Report", "tasks", 0, None, "g", b"s", 1.0),
            events=(event_row(key, 1),),
        )
        for key in (1, 2)
    ]
    return Batch(1, number, commits)


def count(connection: sqlite3.Connection) -> int:
    (found,) = connection.execute("SELECT count(*) FROM event").fetchone()
    return int(found)


@pytest.mark.parametrize("way", WAYS)
def test_what_was_committed_is_not_written_again(database: sqlite3.Connection, way: Way) -> None:
    written = batch()
    write_batch(database, written)

    way(database, written)

    assert count(database) == 1
    assert names(written.refusals) == ["", "Superseded"]


@pytest.mark.parametrize("way", WAYS)
def test_what_was_not_committed_is_written(database: sqlite3.Connection, way: Way) -> None:
    write_batch(database, Batch(1, 1, []))
    written = batch(number=2)

    way(database, written)

    assert count(database) == 1
    assert names(written.refusals) == ["", "Superseded"]
    assert read_node(database) == (1, 2)


@pytest.mark.parametrize("way", WAYS)
def test_after_a_change_of_owner_all_of_it_is_refused(
    database: sqlite3.Connection, way: Way
) -> None:
    written = batch()
    write_batch(database, written)
    database.execute("UPDATE node SET epoch = 2, batch = 0")

    way(database, written)

    assert names(written.refusals) == ["LostLease", "LostLease"]
    assert count(database) == 1


def test_what_may_be_on_no_disk_yet_is_moved_there_first(
    database: sqlite3.Connection, file: Path
) -> None:
    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM task").fetchone()
    written = batch()
    write_batch(database, written)

    with pytest.raises(sqlite3.OperationalError, match="could not be put on disk"):
        write_unless_synced(database, written)
    reader.close()
    write_unless_synced(database, written)

    main = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)  # without the log
    assert count(main) == 1
    main.close()
