"""SIGINT once and twice, and SIGTERM, to a process with a tree of services."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("signalled.py")

pytestmark = [pytest.mark.real, pytest.mark.slow]


def begin(runner: str, cleanup: float) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-W", "error", str(PROGRAM), runner, str(cleanup)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


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
    process = begin(runner, cleanup=0.01)
    process.send_signal(sent)
    said, errors = process.communicate(timeout=30)

    assert said.split() == ["-c", ".c", "-b", ".b", "-a", ".a"]
    assert process.returncode == status, errors


@pytest.mark.parametrize("runner", ["asyncio", "everstep"])
def test_a_second_signal_ends_even_a_cleanup_without_a_limit(runner: str) -> None:
    process = begin(runner, cleanup=3600)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "-c\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)

    assert process.returncode == -signal.SIGINT, errors
    assert "Task was destroyed" not in errors
