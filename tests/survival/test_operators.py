"""What a person does to a task holds, or has not happened; wherever the process dies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from everstep.errors import TaskCancelled
from everstep.runtime import Runtime
from everstep.storage.memory import MemoryStore
from everstep.storage.records import Status
from everstep.task import Task
from everstep.testing import ManualClock, survive_simulated
from tests.survival.operators import Endless, cancels, resumes
from tests.survival.strategies import LONG


def test_a_failed_task_that_is_resumed_ends_alike_wherever_the_process_dies() -> None:
    histories = survive_simulated(resumes, chains=2000 if LONG else 30)

    assert histories[0].result["output"] == ["load", "work", "publish"]
    assert all(history.executions()["load"] <= 1 + len(history.deaths) for history in histories)


def test_a_cancelled_task_is_cancelled_once_wherever_the_process_dies() -> None:
    histories = survive_simulated(cancels, chains=2000 if LONG else 30, max_attempts=1000)

    assert histories[0].result == {"status": "cancelled", "cancelled": 1}


Action = Callable[[Task[Any]], Coroutine[Any, Any, object]]


async def _cancelled(task: Task[Any]) -> None:
    await task.cancel(by="me")


async def _resumed(task: Task[Any]) -> None:
    await task.cancel(by="me")
    await task.resume(by="me")


@pytest.mark.parametrize("action", [_cancelled, _resumed])
async def test_an_action_whose_caller_is_cancelled_at_any_await_is_whole_or_has_not_happened(
    action: Action,
) -> None:
    for turns in range(25):
        clock = ManualClock()
        store = MemoryStore(clock=clock)
        async with (
            asyncio.timeout(20),
            Runtime(":memory:", store=store, clock=clock, grace=0) as runtime,
        ):
            task = await runtime.start(Endless(), id="task")
            acting = asyncio.create_task(action(task))
            for _ in range(turns):
                await asyncio.sleep(0)
            acting.cancel()
            await asyncio.wait([acting])

            status = (await task.status()).status
            assert status in (Status.RUNNING, Status.CANCELLED, Status.QUEUED)
            await task.cancel(by="me")
            with pytest.raises(TaskCancelled):
                await task.result()
            numbers = [event.number async for event in task.events()]
            assert numbers == list(range(1, len(numbers) + 1))
        store.discard()
