"""The running pool of a runtime, for tests that look into it."""

from __future__ import annotations

import asyncio
import gc
from typing import TypeVar

from everstep import Runtime
from everstep.supervisor.pool import RunningPool

T = TypeVar("T")


def pool_of(runtime: Runtime) -> RunningPool:
    """The pool that runs its tasks."""
    session = runtime._session  # pyright: ignore[reportPrivateUsage]  # nothing public leads there
    assert session is not None
    return session.pool


async def until_empty(pool: RunningPool) -> None:
    """Return when all slots are free, also by lane; a life ends some turns after its task."""
    for _ in range(1000):
        if not pool.running:
            break
        await asyncio.sleep(0)
    assert (pool.info().running, dict(pool.info().lanes)) == (0, {})


def existing(kind: type[T]) -> list[T]:
    """All objects of this class that there are."""
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, kind)]
