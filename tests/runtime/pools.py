"""What tests ask of a pool that runs, and of the memory."""

from __future__ import annotations

import asyncio
import gc
from typing import TypeVar

from everstep import RunningPool, Runtime

T = TypeVar("T")


def pool_of(runtime: Runtime) -> RunningPool:
    """The only pool of a runtime whose tree is just that."""
    return runtime.tree.pool("tasks")


async def until_empty(pool: RunningPool) -> None:
    """Return when all slots are free, also by lane; a life ends some turns after its task."""
    for _ in range(1000):
        if not pool.info().running:
            break
        await asyncio.sleep(0)
    assert (pool.info().running, pool.info().lanes) == (0, {})


def existing(kind: type[T]) -> list[T]:
    """All objects of this class that there are."""
    gc.collect()
    return [one for one in gc.get_objects() if issubclass(type(one), kind)]
