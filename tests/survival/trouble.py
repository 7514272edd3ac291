"""Stores that fail under a running runtime, and are mended."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from collections.abc import Callable
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.log import Log
from everstep.actors.step import step
from everstep.runtime import Runtime
from everstep.storage.errors import StoreFailed
from everstep.storage.interface import Alarm, Store
from everstep.testing import Life, note
from tests.survival.host import standing

__all__ = ["disk_full", "locked_by_a_stranger", "patience_is_over"]

STEPS = 12


class Writes(Actor):
    """Steps that each write some kilobytes, and wait for one another's turn."""

    pages: Log[str] = Log()

    async def run(self) -> int:
        for number in range(STEPS):
            await self.write(number)
        return len(self.pages)

    @step
    async def write(self, number: int) -> None:
        note("executed", number=number)
        self.pages.append("x" * 20_000)
        await asyncio.sleep(0)


class Trouble:
    """Breaks a store when so many steps are done, and mends it when that was noticed."""

    def __init__(self, store: Store) -> None:
        self.began = asyncio.Event()
        self.ended = asyncio.Event()
        store.on_alarm(self._alarm)

    def _alarm(self, alarm: Alarm | None) -> None:
        if alarm is None:
            self.ended.set()
        else:
            note("alarm", what=alarm.what)
            self.began.set()


async def _with_trouble(
    life: Life, begin: Callable[[], None], mend: Callable[[], None]
) -> dict[str, Any]:
    store = life.store()
    trouble = Trouble(store)
    async with Runtime(life.path, store=store) as runtime:
        tasks = [await runtime.start(Writes(), id=f"task-{n}") for n in range(3)]
        async for event in tasks[0].events(follow=True):
            if event.kind == "step_completed":
                break
        begin()
        await trouble.began.wait()
        before = len(life.noted("executed"))
        await _turns()
        assert len(life.noted("executed")) == before, "a new attempt began"
        mend()
        note("mended")
        ended = [await standing(task) for task in tasks]
        assert trouble.ended.is_set()
        assert store.trouble is None
    return {"ended": [_counts(one) for one in ended]}


async def _turns() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


def _counts(ended: dict[str, Any]) -> dict[str, Any]:
    return {
        "status": ended["status"],
        "output": ended["output"],
        "crashes": ended["crashes"],
        "deaths": ended["deaths"],
        "attempts": max(ended["attempts"].values()),
        "executions": max(ended["executions"].values()),
    }


async def disk_full(life: Life) -> dict[str, Any]:
    """No file may grow any more, until it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def begin() -> None:
        log = life.path.with_name(life.path.name + "-wal")
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 30_000, hard))

    def mend() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return await _with_trouble(life, begin, mend)


async def locked_by_a_stranger(life: Life) -> dict[str, Any]:
    """Somebody else holds the write lock for longer than we are ready to block."""
    stranger = sqlite3.connect(life.path, isolation_level=None)
    try:
        return await _with_trouble(
            life,
            lambda: _run(stranger, "BEGIN IMMEDIATE"),
            lambda: _run(stranger, "ROLLBACK"),
        )
    finally:
        stranger.close()


def _run(connection: sqlite3.Connection, statement: str) -> None:
    connection.execute(statement)


async def patience_is_over(life: Life) -> dict[str, Any]:
    """The disk stays full in the first life; what the runtime raises, or how the tasks ended."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    store = life.store(store_patience=0.3)
    try:
        async with Runtime(life.path, store=store) as runtime:
            tasks = [await runtime.start(Writes(), id=f"task-{n}") for n in range(3)]
            if life.number == 1:
                log = life.path.with_name(life.path.name + "-wal")
                resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 30_000, hard))
            ended = [await standing(task) for task in tasks]
    except StoreFailed as failed:
        return {"failed": str(failed)}
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return {"ended": [_counts(one) for one in ended]}
