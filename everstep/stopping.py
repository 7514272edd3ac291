"""Sees a stop through to its end, whoever cancels meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

__all__ = ["see_through"]

_TRIES = 4
"""How often a stop is begun again that the end of the loop has cancelled."""


async def see_through(
    stop: Callable[[], Coroutine[Any, Any, None]],
) -> asyncio.CancelledError | None:
    """Run `stop()` in a task of its own to its end; answer who cancelled the caller meanwhile.

    Where the end of the loop cancels that task, the stop is begun again; so it must bear being
    cancelled and called again, and is to be bounded. Raises what it raises.
    """
    cancelled: asyncio.CancelledError | None = None
    for _ in range(_TRIES):
        task = asyncio.get_running_loop().create_task(
            stop(), name="everstep stop", context=Context()
        )
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
        if not task.cancelled():
            task.result()
            break
    return cancelled
