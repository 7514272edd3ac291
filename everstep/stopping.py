"""Sees a stop through to its end, whoever cancels meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextvars import Context
from typing import Any

__all__ = ["keep_for_good", "see_through"]

_TRIES = 4
_GRAVEYARD: list[object] = []
"""User code that was cut off. Of the process, not of a runtime: when such a coroutine is collected
its `finally` blocks run, at a time that nobody chose, so it is kept for as long as there is one."""

Stop = Callable[[bool], Coroutine[Any, Any, None]]


async def see_through(stop: Stop, asked: int) -> asyncio.CancelledError | None:
    """Run `stop(False)` in a task of its own to its end; answer who cancelled the caller meanwhile.

    `asked` is how often the caller was asked to end before. The second time, and where the end of
    the loop cancels the stop itself, it is begun again as `stop(True)`, which is to be quick; so
    `stop` must bear being cancelled and called again. Raises what `stop` raises.
    """
    cancelled: asyncio.CancelledError | None = None
    hurried = False
    for _ in range(_TRIES):
        task = asyncio.get_running_loop().create_task(
            stop(hurried), name="everstep stop", context=Context()
        )
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
                asked += 1
                if asked > 1 and not hurried:
                    hurried = True
                    task.cancel()
        if not task.cancelled():
            task.result()
            break
        hurried = True
    return cancelled


def keep_for_good(severed: Iterable[object]) -> None:
    """Never let go of user code that was cut off."""
    _GRAVEYARD.extend(severed)
