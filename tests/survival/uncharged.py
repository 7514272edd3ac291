"""Scenarios that are charged to nobody, for the table of counters."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from everstep.actors.actor import Actor
from everstep.actors.failures import StepFailed
from everstep.actors.step import step
from everstep.runtime import Runtime
from everstep.storage.errors import LostLease
from everstep.task import Task
from everstep.testing import Life, note, noted
from tests.survival.counted import THREE, Counted, counted, running
from tests.survival.host import living

__all__ = ["lost_lease", "mismatched", "resumed_midway"]


class Fetches(Actor, name="uncharged.fetches"):
    async def run(self) -> None:
        await self.fetch("old")
        await self.endless()

    @step
    async def fetch(self, url: str) -> None:
        note("executed")

    @step
    async def endless(self) -> None:
        note("executed")
        await asyncio.get_running_loop().create_future()


class FetchesAnother(Fetches, name="uncharged.fetches"):
    async def run(self) -> None:
        await self.fetch("new")


async def mismatched(life: Life) -> dict[str, Any]:
    """Stopped in order, and gone on with by code that calls a finished step otherwise."""
    async with living(life) as runtime:
        await running(await runtime.start(Fetches(), id="task"), "endless")
    async with living(life) as runtime:
        task = runtime.task("task", FetchesAnother)
        await _paused(task)
        return await counted(task)


async def _paused(task: Task[Any]) -> None:
    async for event in task.events(follow=True):
        if event.kind == "task_paused":
            return


async def lost_lease(path: Path) -> dict[str, Any]:
    """Another process has taken the store over; what the task that ran here leaves in it."""
    async with Runtime(path) as runtime:
        task = await runtime.start(Endless(), id="task")
        await running(task, "endless")
        with sqlite3.connect(path) as taker:
            taker.execute("UPDATE node SET epoch = epoch + 1")
        taker.close()
        with pytest.raises(LostLease):
            await runtime.start(Endless(), id="other")
    return _stored(path)


def _stored(path: Path) -> dict[str, Any]:
    store = sqlite3.connect(path)
    try:
        status, crashes, deaths = store.execute(
            "SELECT status, crashes, deaths FROM task WHERE id = 'task'"
        ).fetchone()
        attempts = dict(store.execute("SELECT identity, attempts FROM step"))
    finally:
        store.close()
    return {"status": status, "crashes": crashes, "deaths": deaths, "attempts": attempts}


class Endless(Actor, name="uncharged.endless"):
    @step
    async def endless(self) -> None:
        await asyncio.get_running_loop().create_future()


class Midway(Counted):
    """A crash, a failure that is remembered, and a step that is in its second attempt."""

    async def run(self) -> None:
        if not noted("crash"):
            note("crash")
            raise RuntimeError("once")
        try:
            await self.always_fails()
        except StepFailed:
            await self.midway()

    @step(retry=THREE)
    async def midway(self) -> None:
        note("midway", attempt=self.ctx.attempt)
        if noted("resumed"):
            return
        if self.ctx.attempt == 1:
            raise ValueError("the first")
        await asyncio.get_running_loop().create_future()


async def resumed_midway(life: Life) -> dict[str, Any]:
    async with living(life) as runtime:
        task = await runtime.start(Midway(), id="task")
        async for event in task.events(follow=True):
            if (event.kind, event.step) == ("step_started", "midway") and event.data["attempt"] > 1:
                break
        before = await counted(task)
        await task.cancel()
        note("resumed")
        await task.resume()
        await task.result()
        return {"before": before, "after": await counted(task)}
