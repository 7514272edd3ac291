"""A process that is stopped accuses nobody, and the watchdog's thread binds no process."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .watched import AFTER

PROGRAM = Path(__file__).with_name("watched.py")

pytestmark = pytest.mark.real


def program(what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(PROGRAM), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_process_that_was_stopped_at_work_accuses_nobody() -> None:
    with program("stopped") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        for _ in range(5):
            process.send_signal(signal.SIGSTOP)
            time.sleep(2 * AFTER)  # what is measured is that no real time counts
            process.send_signal(signal.SIGCONT)
        said, errors = process.communicate("go\n", timeout=60)

    assert (said, errors) == ("gone on\n", "")


def test_a_forked_child_has_no_watchdog_and_may_stop_its_copy() -> None:
    with program("forked") as process:
        said, _ = process.communicate(timeout=60)

    assert said.splitlines() == ["2 threads", "1 in the child", "stopped there", "1 at the end"]


def test_a_watchdog_whose_tree_was_never_left_keeps_no_process_alive() -> None:
    with program("abandoned") as process:
        said, _ = process.communicate(timeout=60)

    assert (said, process.returncode) == ("left behind\n", 0)
