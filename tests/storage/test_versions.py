"""A file of every released version opens, and is then one of the present version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from everstep.storage import NewTask, Progress, Share, SqliteStore, Status
from everstep.storage.sqlite import opening, schema
from everstep.testing import ManualClock


def insert(connection: sqlite3.Connection, new: NewTask, progress: Progress) -> None:
    """Insert a task with the columns that the file's version has."""
    values = new._asdict() | progress._asdict()
    known = [row[1] for row in connection.execute("PRAGMA table_info(task)") if row[1] in values]
    marks = ", ".join("?" * len(known))
    connection.execute(
        f"INSERT INTO task ({', '.join(known)}) VALUES ({marks})", [values[name] for name in known]
    )


def left_behind(file: Path, version: int) -> None:
    """Leave a file as an everstep of this version would, with one queued task and one that ran."""
    connection = sqlite3.connect(file, isolation_level=None)
    opening.set_pragmas(connection, "full")
    schema.migrate(connection, schema.MIGRATIONS[:version])
    connection.execute("UPDATE node SET epoch = 7")
    for key, status, epoch in ((1, Status.QUEUED, None), (2, Status.RUNNING, 7)):
        new = NewTask(key, f"task-{key}", "Report", "tasks", 0, None, "g", b"seed", 1.0)
        progress = Progress.beginning(1.0)._replace(status=status, epoch=epoch)
        insert(connection, new, progress)
    connection.close()


def indexes(file: Path) -> set[tuple[str, str]]:
    connection = sqlite3.connect(file)
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'")
    rows = {(name, sql) for name, sql in found if sql is not None}
    connection.close()
    return rows


@pytest.mark.parametrize("version", range(1, schema.VERSION + 1))
async def test_a_file_of_every_released_version_opens_with_its_tasks(
    file: Path, tmp_path: Path, clock: ManualClock, version: int
) -> None:
    left_behind(file, version)
    store, fresh = SqliteStore(file, clock=clock), SqliteStore(tmp_path / "new.db", clock=clock)
    for opened in (store, fresh):
        await opened.open()

    page = await store.lanes("tasks", turns={}, limit=10, deep=10)
    rows = await store.claimable(
        "tasks", [Share(0, None, 9)], actors=["Report"], now=9.0, since_boot=None, suspects_from=2
    )

    assert [(queue.lane, queue.oldest) for queue in page.queues] == [(None, 1)]
    assert [row.id for row in rows] == ["task-1"]
    assert [row.id for row in await store.orphans()] == ["task-2"]
    for opened in (store, fresh):
        await opened.close()
    assert indexes(file) == indexes(tmp_path / "new.db")
