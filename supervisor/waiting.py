"""Waits that always end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

from ..actors.traffic import resolve
from ..storage.clock import Clock

__all__ = ["all_done"]


async def all_done(clock: Clock, futures: Iterable[asyncio.Future[Any]], seconds: float) -> bool:
    """Return when all are done, or after `seconds`; whether they are.

    Cancels none of them and does not look at how they ended; cancelling it leaves them alone.
    """
    waiting = {future for future in futures if not future.done()}
    if not waiting:
        return True
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def one_is_done(future: asyncio.Future[Any]) -> None:
        waiting.discard(future)
        if not waiting:
            resolve(over)

    timer = clock.call_later(seconds, partial(resolve, over))
    for future in list(waiting):
        future.add_done_callback(one_is_done)
    try:
        await over
    finally:
        timer.cancel()
        for future in waiting:
            future.remove_done_callback(one_is_done)
    return not waiting
