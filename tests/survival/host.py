"""Runs one task to its end in a life, and says how it stands."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from everstep.actors.actor import Actor
from everstep.errors import TaskFailed, TaskPaused
from everstep.runtime import Runtime
from everstep.supervisor.pool_spec import Pool
from everstep.supervisor.restart import Restart
from everstep.task import Task
from everstep.testing import Life

__all__ = ["living", "standing", "to_end"]


@asynccontextmanager
async def living(
    life: Life, *, restart: Restart | None = None, idle_after: float = 10
) -> AsyncGenerator[Runtime]:
    """The runtime of a life."""
    tree = Pool(restart=restart or Restart(3))
    runtime = Runtime(
        life.path, store=life.store(), clock=life.clock, tree=tree, idle_after=idle_after
    )
    async with runtime:
        yield runtime


async def to_end(life: Life, actor: Actor, *, restart: Restart | None = None) -> dict[str, Any]:
    """Start the task unless it exists, let it end or pause, and tell how it stands."""
    async with living(life, restart=restart) as runtime:
        task = await runtime.start(actor, id="task")
        return await standing(task)


async def standing(task: Task[Any]) -> dict[str, Any]:
    """How a task stands when it has ended or is paused, as JSON."""
    output: Any = None
    error: str | None = None
    try:
        output = await task.result()
    except (TaskFailed, TaskPaused) as failed:
        error = f"{failed.error}: {failed.message}"
    info = await task.status()
    numbers = [event.number async for event in task.events()]
    assert numbers == list(range(1, len(numbers) + 1)), numbers
    return {
        "status": str(info.status),
        "reason": info.reason,
        "output": output,
        "state": (await task.state()).model_dump(mode="json"),
        "error": error,
        "crashes": info.crashes,
        "deaths": info.deaths,
        "attempts": {step.identity: step.attempts for step in await task.steps()},
        "executions": {step.identity: step.executions for step in await task.steps()},
    }
