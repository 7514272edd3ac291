"""The process always ends, whatever its tasks and its body do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(120)]

PROGRAMS = Path(__file__).with_name("programs.py")


def run(
    program: str, tmp_path: Path, *, stop: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; with `stop`, send this signal when it says that it is ready."""
    command = [sys.executable, "-W", "error", str(PROGRAMS), program, str(tmp_path / "tasks.db")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        if stop is not None:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(stop)
        output, errors = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    finally:
        process.kill()
        process.wait()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def deaths(tmp_path: Path) -> str:
    """What the next runtime counts: an orderly stop is no death."""
    return run("look", tmp_path).stdout.strip()


def test_after_an_exception_in_the_body(tmp_path: Path) -> None:
    done = run("raises", tmp_path)

    assert done.returncode == 1
    assert "ValueError: in the body" in done.stderr
    assert deaths(tmp_path) == "queued deaths=0 crashes=0"


def test_after_an_exception_in_the_lifespan_of_a_server(tmp_path: Path) -> None:
    done = run("lifespan", tmp_path)

    assert done.returncode == 3, done.stderr
    assert "ValueError: in the lifespan" in done.stderr
    assert deaths(tmp_path) == "queued deaths=0 crashes=0"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_after_a_signal_under_everstep_run(tmp_path: Path, number: signal.Signals) -> None:
    done = run("signalled", tmp_path, stop=number)

    assert done.returncode in (143, 130, -signal.SIGINT), done.stderr
    assert deaths(tmp_path) == "queued deaths=0 crashes=0"


def test_after_a_sigterm_that_nobody_handles_which_is_a_death(tmp_path: Path) -> None:
    done = run("unhandled", tmp_path, stop=signal.SIGTERM)

    assert done.returncode == -signal.SIGTERM
    assert deaths(tmp_path) == "queued deaths=1 crashes=0"


@pytest.mark.parametrize("program", ["swallows", "swallows_in_run"])
def test_with_code_that_swallows_its_cancellation(tmp_path: Path, program: str) -> None:
    done = run(program, tmp_path)

    assert done.returncode == 0, done.stderr
    assert "left" in done.stdout
    assert deaths(tmp_path) == "queued deaths=0 crashes=0"


def test_with_a_thread_that_is_busy(tmp_path: Path) -> None:
    done = run("busy_thread", tmp_path)

    assert done.returncode == 0, done.stderr
    assert deaths(tmp_path) == "queued deaths=0 crashes=0"


def test_with_a_runtime_that_was_never_closed(tmp_path: Path) -> None:
    done = run("never_closed", tmp_path)

    assert done.returncode == 0, done.stderr


def test_with_a_step_that_exits_the_process(tmp_path: Path) -> None:
    done = run("exits", tmp_path)

    assert done.returncode == 7, done.stderr
