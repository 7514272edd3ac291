"""What measures runs apart: one that fails is a line of the report, and loses no other."""

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from benchmarks.apart import Failed, apart
from benchmarks.instrument import main, measure
from benchmarks.report import read
from benchmarks.rows import NONE, Row, Side, Unmeasured

pytestmark = [
    pytest.mark.real,
    # Of the workers that run tests, which have threads; the instrument itself has none.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def well(quick: bool, where: Path) -> list[Row | Unmeasured]:
    (where / "file").touch()
    ours = Side("everstep", NONE, (1.0 if quick else 2.0,))
    return [Row("a thing", "ms", ours), Unmeasured("another", "not on this machine")]


def raising(quick: bool, where: Path) -> list[Row]:
    raise ZeroDivisionError("no time has passed")


def dying(quick: bool, where: Path) -> list[Row]:
    os.kill(os.getpid(), signal.SIGKILL)
    return []


def test_one_that_fails_is_a_line_of_the_report_and_loses_no_other(tmp_path: Path) -> None:
    report, failures = measure([raising, well, dying, well], True, tmp_path)

    assert [row.what for row in report.rows] == ["a thing", "a thing"]
    reasons = {found.why for found in report.unmeasured if found.what == __name__}
    assert reasons == {
        "failed: ZeroDivisionError: no time has passed",
        f"failed: its process died, exit code {-signal.SIGKILL}",
    }
    assert ["in raising" in failure for failure in failures] == [True, False]


def test_what_could_not_be_measured_here_is_a_line_but_no_failure(tmp_path: Path) -> None:
    report, failures = measure([well], True, tmp_path)

    assert report.unmeasured == (Unmeasured("another", "not on this machine"),)
    assert not failures


def test_the_report_tells_on_what_was_measured_and_how_busy_that_was(tmp_path: Path) -> None:
    report, _ = measure([], True, tmp_path)

    assert {"cores", "file system", "Python", "SQLite", "everstep"} < report.machine.keys()
    assert {"load before", "load after"} < report.machine.keys()


def test_the_files_of_what_measures_are_gone_afterwards(tmp_path: Path) -> None:
    measure([well], True, tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_the_command_line_writes_the_json_and_then_exits_with_an_error_if_one_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.json"

    with pytest.raises(SystemExit, match="no time has passed"):
        main(well, raising, arguments=["--quick", "--json", str(file), "--dir", str(tmp_path)])

    assert [row.ours.values for row in read(file).rows] == [(1.0,)]
    assert "a thing" in capsys.readouterr().out


def test_without_quick_all_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(well, arguments=["--json", str(tmp_path / "report.json"), "--dir", str(tmp_path)])

    assert [row.ours.values for row in read(tmp_path / "report.json").rows] == [(2.0,)]


def hang(held: int) -> None:
    """Start a process that hangs too; both hold the end of a pipe."""
    with subprocess.Popen(["sleep", "600"], pass_fds=[held]):
        os.write(held, b"started")


def test_a_call_that_hangs_is_killed_and_so_are_the_processes_that_it_started() -> None:
    reading, held = os.pipe()

    with pytest.raises(Failed, match="not done in 2 s"):
        apart(partial(hang, held), 2)

    os.close(held)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"started"  # to its end: nobody is left that holds the other one
