"""A disk that fails: the calls of the system are made to fail in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from everstep.storage import SqliteStore, SystemClock
from tests.storage.kit import Life, hold

COMPILER = shutil.which("cc")

pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler to build the shim with"),
]

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether FAIL_DIR/<name> exists and the file is one of the store: then the call fails. */
static int fails(const char *name, int fd) {
    char control[512], link[64], path[512];
    const char *dir = getenv("FAIL_DIR");
    if (!dir) return 0;
    snprintf(control, sizeof control, "%s/%s", dir, name);
    if (access(control, F_OK) != 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, "tasks.db") && !strstr(path, ".lock");
}

#define REAL(name, type) static __typeof__(type) real; \
    if (!real) real = (type)dlsym(RTLD_NEXT, name)
#define SYNC(name) \
    int name(int fd) { \
        REAL(#name, int (*)(int)); \
        int done = real(fd); \
        if (fails("sync", fd)) { errno = EIO; return -1; } \
        return done; \
    }
#define WRITE(name) \
    ssize_t name(int fd, const void *data, size_t size, off_t at) { \
        REAL(#name, ssize_t (*)(int, const void *, size_t, off_t)); \
        if (fails("write", fd)) { errno = EIO; return -1; } \
        if (fails("full", fd)) { errno = ENOSPC; return -1; } \
        return real(fd, data, size, at); \
    }
#define READ(name) \
    ssize_t name(int fd, void *data, size_t size, off_t at) { \
        REAL(#name, ssize_t (*)(int, void *, size_t, off_t)); \
        if (fails("read", fd)) { errno = EIO; return -1; } \
        return real(fd, data, size, at); \
    }

/* Die before the first transaction of a file is through, if FAIL_DIR/unlink exists. */
int unlink(const char *path) {
    REAL("unlink", int (*)(const char *));
    const char *dir = getenv("FAIL_DIR");
    char control[512];
    snprintf(control, sizeof control, "%s/unlink", dir ? dir : "");
    if (strstr(path, "tasks.db-journal") && access(control, F_OK) == 0) kill(getpid(), SIGKILL);
    return real(path);
}

SYNC(fsync)
SYNC(fdatasync)
WRITE(pwrite)
WRITE(pwrite64)
READ(pread)
READ(pread64)
"""

SCENARIO = """
import asyncio, json, os, sys
from pathlib import Path
from everstep.storage import SqliteStore, StoreFailed, SystemClock
from tests.storage.kit import hold, lives, names, submit

FAIL = Path(os.environ["FAIL_DIR"])
KIND, WHAT = sys.argv[2:]


async def main():
    patience = 0.5 if WHAT == "give up" else 60
    store = SqliteStore(sys.argv[1], clock=SystemClock(), store_patience=patience)
    await store.open()
    (life,) = await lives(store, 1)
    await hold(store, life.checkpoint("0/before"))
    alarmed = asyncio.Event()
    alarms = []
    store.on_alarm(lambda alarm: (alarms.append(alarm and alarm.what), alarmed.set()))

    (FAIL / KIND).touch()
    notes = submit(store, life.checkpoint("0/a"))
    await alarmed.wait()
    notes += submit(store, life.checkpoint("0/b"))
    if WHAT == "die":
        os.kill(os.getpid(), 9)
    early = [note.settled.done() for note in notes]
    if WHAT == "recover":
        (FAIL / KIND).unlink()
    refusals = names([await note.settled for note in notes])
    if WHAT == "recover":
        await hold(store, life.checkpoint("0/after"))
    await store.close()
    print(json.dumps({"alarms": alarms, "early": early, "refusals": refusals}))


asyncio.run(main())
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes calls of the system fail while a control file exists."""
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run(
        [str(COMPILER), "-shared", "-fPIC", "-O1", "-o", "shim.so", "shim.c", "-ldl"],
        cwd=folder,
        check=True,
    )
    return folder / "shim.so"


def run(shim: Path, file: Path, kind: str, what: str) -> dict[str, Any]:
    """Play the scenario in a process whose disk fails; what it tells."""
    fail = file.parent / "fail"
    fail.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCENARIO, str(file), kind, what],
        env={**os.environ, "LD_PRELOAD": str(shim), "FAIL_DIR": str(fail)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=50,
    )
    if what == "die":
        assert done.returncode == -9, done.stderr
        return {}
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


async def steps_of(file: Path) -> tuple[SqliteStore, list[str]]:
    """The store, opened on a sound disk, and the steps of its only task."""
    store = SqliteStore(file, clock=SystemClock())
    await store.open()
    row = await store.task("task-0")
    assert row is not None
    steps = [step.identity for _, step in await store.steps(row.key)]
    assert len(await store.events(row.key)) == len(steps) == row.progress.seq
    return store, steps


@pytest.mark.parametrize(
    ("kind", "alarm"),
    [("sync", "disk fails"), ("write", "disk fails"), ("full", "disk is full")],
)
async def test_what_the_disk_refused_is_written_once_when_it_works_again(
    shim: Path, file: Path, kind: str, alarm: str
) -> None:
    told = await asyncio.to_thread(run, shim, file, kind, "recover")

    assert told["early"] == [False, False]
    assert told["refusals"] == ["", ""]
    assert alarm in told["alarms"][0]
    assert told["alarms"][1:] == [None]
    store, steps = await steps_of(file)
    assert steps == ["0/before", "0/a", "0/b", "0/after"]
    await store.close()


@pytest.mark.parametrize("kind", ["sync", "write", "full"])
async def test_a_death_while_the_disk_fails_leaves_a_whole_commit_or_none(
    shim: Path, file: Path, kind: str
) -> None:
    await asyncio.to_thread(run, shim, file, kind, "die")

    store, steps = await steps_of(file)

    assert steps in (["0/before"], ["0/before", "0/a"])
    assert store.orderly_epochs == frozenset()
    await store.close()


@pytest.mark.parametrize("kind", ["sync", "write", "full"])
async def test_giving_up_on_a_disk_is_an_end_in_order(shim: Path, file: Path, kind: str) -> None:
    told = await asyncio.to_thread(run, shim, file, kind, "give up")

    assert told["refusals"] == ["StoreFailed", "StoreFailed"]
    store, steps = await steps_of(file)
    assert store.orderly_epochs == {1}
    assert steps in (["0/before"], ["0/before", "0/a"])
    await hold(store, Life(store, id="more").create())
    await store.close()


MAKE = """
import asyncio, sys
from everstep.storage import SqliteStore, SystemClock

asyncio.run(SqliteStore(sys.argv[1], clock=SystemClock()).open())
"""


async def test_a_death_while_a_file_is_made_leaves_one_that_opens(shim: Path, file: Path) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(shim), "FAIL_DIR": str(file.parent)}
    (file.parent / "unlink").touch()
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", MAKE, str(file)], env=environment
    )
    assert done.returncode == -9
    assert file.with_name("tasks.db-journal").exists()

    store = SqliteStore(file, clock=SystemClock())
    await store.open()

    await hold(store, Life(store).create())
    await store.close()
