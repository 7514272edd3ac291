"""What `everstep tree` cannot show is refused in one line that says what to do."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from everstep import Runtime
from everstep.cli import main
from everstep.storage.sqlite import schema

from .kit import everstep, refused, shown, worked

real = pytest.mark.real


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def write(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_a_missing_file_is_named_and_not_made(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, file)

    assert f"{file}: there is no such file; give the path" in said
    assert names(file.parent) == []


def test_a_store_that_was_removed_is_missing_though_its_lock_is_there(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worked(file).unlink()

    assert "there is no such file" in refused(capsys, file)
    assert names(file.parent) == ["tasks.db.lock"]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".", "it is a directory; give the path of a file in it"),
        ("no/tasks.db", "there is no directory"),
        (":memory:", "what is in memory ends with its process; give the path"),
    ],
)
def test_what_is_no_path_of_a_file_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert why in refused(capsys, path)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no runtime has used it yet"),
        (b"x", "is no database"),
        (b"hello, this is text\n" * 500, "is no database"),
    ],
)
def test_a_file_that_is_no_store_is_refused_and_gets_no_lock(
    file: Path, capsys: pytest.CaptureFixture[str], data: bytes, why: str
) -> None:
    file.write_bytes(data)

    assert why in refused(capsys, file)
    assert names(file.parent) == ["tasks.db"]
    assert file.read_bytes() == data


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (("CREATE TABLE theirs (x)",), "belongs to another program (it holds theirs)"),
        (("PRAGMA journal_mode = wal", "CREATE TABLE theirs (x)"), "belongs to another program"),
        (("PRAGMA journal_mode = wal",), "no runtime has used it yet"),
        (
            (
                f"PRAGMA application_id = {schema.APPLICATION_ID}",
                f"PRAGMA user_version = {schema.VERSION + 1}",
            ),
            "install that version or a newer one",
        ),
    ],
)
def test_a_database_that_is_no_store_of_ours_is_refused_and_gets_no_lock(
    file: Path, capsys: pytest.CaptureFixture[str], statements: tuple[str, ...], why: str
) -> None:
    write(file, *statements)

    assert why in refused(capsys, file)
    assert names(file.parent) == ["tasks.db"]


def test_a_file_with_two_names_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.link(worked(file), file.with_name("other.db"))

    assert "2 names (hard links)" in refused(capsys, file)


def test_a_store_in_use_here_is_refused_and_its_owner_not_disturbed(file: Path) -> None:
    async def use() -> int:
        async with Runtime(file):
            return await asyncio.to_thread(main, ["tree", str(file)])

    assert asyncio.run(use()) == 2


@real
def test_a_store_in_use_says_by_whom_and_where_it_is_shown_live(file: Path) -> None:
    async def use() -> subprocess.CompletedProcess[str]:
        async with Runtime(file):
            return await asyncio.to_thread(everstep, "tree", file)

    done = asyncio.run(use())

    assert (done.returncode, done.stdout) == (2, "")
    assert f"process {os.getpid()} on {socket.gethostname()} has used it since" in done.stderr
    assert "print(runtime.tree.look())" in done.stderr
    assert done.stderr.count("\n") == 1


AS_NOBODY = """
import os, sys
from everstep.cli import main
from everstep.storage import SystemClock

SystemClock()  # loads what that user may not be able to read
os.setuid(65534)
sys.exit(main(["tree", sys.argv[1]]))
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that every user can reach, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made)
        path.chmod(0o777)
        yield path
        path.chmod(0o777)


@real
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(
    ("protected", "mode", "told"),
    [
        ("tasks.db", 0o444, "the file is read-only for this user; give this user the right"),
        (".", 0o555, "is read-only for this user; give this user the right"),
        (".", 0o000, "Permission denied; see that this user may go there"),
        ("tasks.db.lock", 0o444, "cannot be opened for writing"),
    ],
)
def test_a_user_without_the_rights_is_told(
    shared: Path, protected: str, mode: int, told: str
) -> None:
    file = worked(shared / "tasks.db")
    for path in shared.iterdir():
        path.chmod(0o666)
    (shared / protected).chmod(mode)

    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, file], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


# --- as a process ---------------------------------------------------------------------------


@real
def test_the_command_prints_what_main_prints(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = everstep("tree", worked(file))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == shown(capsys, file)
    assert json.loads(everstep("tree", "--json", file).stdout)["schema"] == schema.VERSION


@real
def test_a_refusal_is_status_2_and_no_traceback(file: Path) -> None:
    done = everstep("tree", file)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("everstep tree: ")
    assert "Traceback" not in done.stderr


@real
@pytest.mark.parametrize("argv", [[], ["tree"], ["trees", "x"], ["tree", "x", "y"]])
def test_a_wrong_command_line_shows_the_usage(argv: list[str]) -> None:
    done = everstep(*argv)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: everstep")


@real
def test_a_reader_that_goes_away_is_no_error(file: Path) -> None:
    worked(file)
    listen, speak = os.pipe()
    os.close(listen)
    done = subprocess.run(
        [sys.executable, "-m", "everstep", "tree", file], stdout=speak, stderr=subprocess.PIPE
    )
    os.close(speak)

    assert (done.returncode, done.stderr) == (0, b"")


@real
def test_what_the_terminal_cannot_say_is_replaced(file: Path) -> None:
    done = everstep("tree", worked(file), env=os.environ | {"PYTHONIOENCODING": "ascii"})

    assert (done.returncode, done.stderr) == (0, "")
    assert "?? agents  pool        not running" in done.stdout
