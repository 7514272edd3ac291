"""A stopped store in which something is damaged is refused, or shown without it: no traceback."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from everstep import Runtime, StoreUnreadable
from everstep.cli import main

from .kit import known, refused, shown, worked


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return worked(tmp_path / "tasks.db")


def damage(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        for statement in statements:
            connection.execute(statement)


SCHEMA_OF_NO_TEXT = (
    "PRAGMA writable_schema = 1",
    "UPDATE sqlite_master SET name = CAST(x'ff' AS TEXT), sql = 'TABLE' WHERE name = 'task'",
)


@pytest.mark.parametrize("event", ["data = '{'", "at = 'noon'", "at = 1e300"])
def test_an_event_that_cannot_be_read_is_a_damaged_file(
    file: Path, capsys: pytest.CaptureFixture[str], event: str
) -> None:
    damage(file, f"UPDATE event SET {event} WHERE kind = 'task_started'")

    for options in ((), ("--limit", "0"), ("--task", "ends")):
        assert main(["events", str(file), *options]) == 2
        assert "a row in it is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ("status = 'dancing'", "a row in it is damaged: 'dancing' is not a valid Status"),
        ("updated_at = 'noon'", "a row in it is damaged: "),
        ("reason = x'00'", "a row in it is damaged: "),
        ("reason = CAST(x'ff0a' AS TEXT)", "a text in it is damaged: Could not decode to UTF-8"),
    ],
)
def test_a_task_that_cannot_be_read_is_a_damaged_file(
    file: Path, capsys: pytest.CaptureFixture[str], task: str, why: str
) -> None:
    damage(file, f"UPDATE task SET {task} WHERE id = 'fails'")

    assert why in refused(capsys, file)


def test_the_events_of_a_task_of_an_unknown_status_are_of_a_damaged_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(file, "UPDATE task SET status = 'dancing' WHERE id = 'fails'")

    assert main(["events", str(file), "--task", "fails"]) == 2
    assert "'dancing' is not a valid Status" in capsys.readouterr().err


@pytest.mark.parametrize("error", ["x'7b22'", "'[]'", "'{}'", "'null'"])
def test_a_task_whose_error_cannot_be_read_is_shown_with_that(
    file: Path, capsys: pytest.CaptureFixture[str], error: str
) -> None:
    damage(file, f"UPDATE task SET error = {error} WHERE id IN ('fails', 'pauses')")

    assert "failed: fails (cli.Chore): crashes, unreadable: what is stored" in shown(capsys, file)
    (pool,) = known(capsys, file)["pools"]
    assert pool["paused"]["newest"][0]["to_go_on"].startswith("await runtime.task('pauses')")


async def test_a_schema_that_is_no_text_is_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "tasks.db"
    async with Runtime(file):
        pass
    damage(file, *SCHEMA_OF_NO_TEXT)

    with pytest.raises(StoreUnreadable, match="damaged"):
        async with Runtime(file):
            pass


@pytest.mark.parametrize("command", ["tree", "events"])
def test_a_schema_that_is_no_text_is_refused_by_each_command(
    file: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    damage(file, *SCHEMA_OF_NO_TEXT)

    assert main([command, str(file)]) == 2
    assert "damaged" in capsys.readouterr().err
