"""A child that a program under `everstep.run` forks ends by a signal like any other process."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, time
import everstep

async def main():
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"up")
        time.sleep(60)
        os._exit(0)
    os.read(reading, 2)
    os.kill(child, int(sys.argv[1]))
    _, status = os.waitpid(child, 0)
    return status

print(os.WTERMSIG(everstep.run(main())))
"""


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_forked_child_ends_by_the_signal_and_its_parent_goes_on(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(int(number))],
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert (done.returncode, done.stdout.strip()) == (0, str(int(number))), done.stderr
