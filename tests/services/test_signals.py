"""SIGINT once and twice, and SIGTERM, to a process with a tree of services."""

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("signalled.py")

pytestmark = [pytest.mark.real, pytest.mark.slow]


@contextmanager
def program(runner: str, cleanup: float) -> Generator[subprocess.Popen[str], None, None]:
    """The process once its tree is up; gone afterwards in any case."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", str(PROGRAM), runner, str(cleanup)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "up\n":
                pytest.fail(process.communicate()[1])
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("runner", "sent", "status"),
    [
        ("asyncio", signal.SIGINT, -signal.SIGINT),
        ("everstep", signal.SIGINT, -signal.SIGINT),
        ("everstep", signal.SIGTERM, 128 + signal.SIGTERM),
    ],
)
def test_one_signal_stops_the_tree_in_reverse_order(
    runner: str, sent: signal.Signals, status: int
) -> None:
    with program(runner, cleanup=0.01) as process:
        process.send_signal(sent)
        said, errors = process.communicate(timeout=30)

    assert said.split() == ["-c", ".c", "-b", ".b", "-a", ".a"]
    assert process.returncode == status, errors


@pytest.mark.parametrize(
    ("runner", "sent", "status"),
    [
        ("asyncio", signal.SIGINT, -signal.SIGINT),
        ("everstep", signal.SIGINT, -signal.SIGINT),
        ("everstep", signal.SIGTERM, 128 + signal.SIGTERM),
    ],
)
def test_a_second_signal_ends_even_a_cleanup_without_a_limit(
    runner: str, sent: signal.Signals, status: int
) -> None:
    with program(runner, cleanup=3600) as process:
        process.send_signal(sent)
        assert process.stdout is not None
        assert process.stdout.readline() == "-c\n"
        process.send_signal(sent)
        _, errors = process.communicate(timeout=30)

    assert process.returncode == status, errors
    assert "Task was destroyed" not in errors
