"""On what was measured: a table of times says nothing without it."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

import pydantic

__all__ = ["describe", "load", "resident", "sync_time"]

_HERE = Path(__file__).resolve().parent


def load() -> float:
    """Processes that wanted a core over the last minute; above the number of cores, distrust."""
    return os.getloadavg()[0]


def resident() -> int:
    """Bytes of memory that this process has in RAM."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def sync_time(folder: Path, times: int = 50) -> float:
    """Seconds to append 4 KiB to a file of this folder and sync it; median."""
    file = folder / "sync"
    taken: list[float] = []
    with file.open("wb", buffering=0) as written:
        for _ in range(times):
            began = time.perf_counter()
            written.write(bytes(4096))
            os.fdatasync(written.fileno())
            taken.append(time.perf_counter() - began)
    file.unlink()
    return statistics.median(taken)


def describe(folder: Path) -> dict[str, str | int | float]:
    """Facts of the machine, by name."""
    return {
        "cores": os.cpu_count() or 0,
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "file system": _filesystem(folder),
        "4 KiB written and synced, ms": round(sync_time(folder) * 1000, 3),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "SQLite": sqlite3.sqlite_version,
        "pydantic": pydantic.VERSION,
        "everstep": f"{version('everstep')}, {_commit()}",
        "load before": round(load(), 2),
    }


def _commit() -> str:
    """The commit of the tree that this file is in, and whether that was changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        done = subprocess.run(command, cwd=_HERE, capture_output=True, text=True)
    except FileNotFoundError:
        return "no git here"
    return done.stdout.strip() or "in no repository"


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _filesystem(folder: Path) -> str:
    """The type of the file system that a folder is on, as far as Linux tells."""
    path = str(folder.resolve())
    mounts = (line.split() for line in _lines("/proc/mounts"))
    found = [
        (len(mount[1]), mount[2])
        for mount in mounts
        if path == mount[1] or path.startswith(mount[1].rstrip("/") + "/")
    ]
    return max(found)[1] if found else "unknown"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
