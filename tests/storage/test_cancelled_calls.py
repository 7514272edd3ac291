"""A caller of the store that is cancelled, at every await of a call: nobody else notices."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Generator
from pathlib import Path
from types import coroutine
from typing import Any

import pytest

from everstep.storage import Share, SqliteStore, Store
from everstep.testing import ManualClock
from tests.storage.kit import Life, lives, submit

Calls = Callable[[Store, Life], Coroutine[Any, Any, Any]]

_OF_A_POOL: dict[str, Any] = {"actors": ["Report"], "suspects_from": 1}
READS: dict[str, Calls] = {
    "task": lambda store, life: store.task(life.id),
    "tasks": lambda store, life: store.tasks(),
    "lanes": lambda store, life: store.lanes("tasks", turns={}, limit=10, deep=1),
    "claimable": lambda store, life: store.claimable(
        "tasks", [Share(0, None, 10)], now=9.0, since_boot=None, **_OF_A_POOL
    ),
    "suspects": lambda store, life: store.suspects("tasks", limit=10, **_OF_A_POOL),
    "strangers": lambda store, life: store.strangers("tasks", actors=[]),
    "queues": lambda store, life: store.queues(),
    "orphans": lambda store, life: store.orphans(),
    "open_steps": lambda store, life: store.open_steps([life.key]),
    "open_waits": lambda store, life: store.open_waits([life.key]),
    "next_due": lambda store, life: store.next_due("tasks", now=1.0, since_boot=None),
    "load a plan": lambda store, life: store.load(life.key, flow=False),
    "load a flow": lambda store, life: store.load(life.key, flow=True),
    "steps": lambda store, life: store.steps(life.key),
    "events": lambda store, life: store.events(life.key),
    "log": lambda store, life: store.log(kinds=["happened"]),
    "effects": lambda store, life: store.effects(life.key),
}


@coroutine
def _cancelled_at(place: int, call: Awaitable[Any]) -> Generator[Any, Any, Any]:
    """Await `call`, and cancel the present task where that suspends for the time `place`."""
    inner = call.__await__()
    error: BaseException | None = None
    for suspension in itertools.count(1):
        try:
            waited = next(inner) if error is None else inner.throw(error)
        except StopIteration as end:
            return end.value
        if suspension == place:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        error = None
        try:
            yield waited
        except BaseException as thrown:
            error = thrown


async def _cut(place: int, call: Awaitable[Any]) -> bool:
    """Whether the call was cancelled at that place, and not over before."""

    async def calling() -> None:
        await _cancelled_at(place, call)

    task = asyncio.create_task(calling())
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
    return task.cancelled()


@pytest.mark.parametrize("name", READS)
async def test_a_read_cancelled_at_any_await_disturbs_no_write_and_no_other_read(
    store: Store, name: str
) -> None:
    (life,) = await lives(store, 1)
    for place in itertools.count(1):
        (note,) = submit(store, life.event())
        beside = asyncio.create_task(store.task(life.id))

        cut = await _cut(place, READS[name](store, life))

        assert await note.settled is None
        assert await beside is not None
        assert len(await store.events(life.key, limit=1000)) == place
        if not cut:
            assert place > 1, "the call never waited"
            break


async def test_a_close_cancelled_at_any_await_loses_no_write_and_frees_the_file(
    file: Path, clock: ManualClock
) -> None:
    for place in itertools.count(1):
        store = SqliteStore(file, clock=clock)
        await store.open()
        (note,) = submit(store, Life(store, id=f"task-{place}").create())

        cut = await _cut(place, store.close())

        assert await note.settled is None
        again = SqliteStore(file, clock=clock)
        await again.open()
        assert len(await again.tasks(limit=1000)) == place
        await again.close()
        if not cut:
            assert place > 1, "the call never waited"
            break
