"""Runs mypy, strict, over programs that it is to find wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import everstep

__all__ = ["check_that_mypy_finds"]


def check_that_mypy_finds(wrong: Mapping[str, str], before: str, folder: Path) -> None:
    """Assert that each program, behind `before`, is reported, and that `before` alone is not."""
    (folder / "mypy.ini").write_text("[mypy]\nstrict = True\nplugins = pydantic.mypy\n")
    before = f"# mypy: enable-error-code=unused-awaitable\n{before}"
    names = {f"wrong_{number}": what for number, what in enumerate(wrong)}
    for name, what in names.items():
        (folder / f"{name}.py").write_text(f"{before}{wrong[what]}\n")
    (folder / "right.py").write_text(before)

    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", "."],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    missed = [what for name, what in names.items() if f"{name}.py:" not in found.stdout]
    assert not missed, found.stdout + found.stderr
    assert "right.py:" not in found.stdout


def _environment() -> dict[str, str]:
    """Shows mypy this very everstep; an installed one it finds by itself."""
    root = Path(everstep.__file__).parents[1]
    path = {} if root.name == "site-packages" else {"MYPYPATH": str(root)}
    return {**os.environ, **path}
