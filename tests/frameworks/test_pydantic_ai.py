"""An agent framework's loop runs in a flow, and calls its model and tools through `ctx.step`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.real, pytest.mark.slow]

ROOT = Path(__file__).resolve().parent.parent.parent


def live(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.frameworks.assistant", str(folder / "tasks.db")],
        cwd=ROOT,
        env={**os.environ, "RECORD": str(folder / "record")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_model_and_tool_calls_that_were_finished_are_not_repeated_after_a_kill(
    tmp_path: Path,
) -> None:
    assert live(tmp_path).returncode == -signal.SIGKILL
    ended = live(tmp_path)

    assert ended.stdout == "cold in Oslo and warm in Rome", ended.stderr
    called = (tmp_path / "record").read_text().splitlines()
    assert sorted(called) == ["model 0", "model 2", "tool Oslo", "tool Rome", "tool Rome"]
