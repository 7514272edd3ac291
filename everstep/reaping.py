"""Cancels the children of tasks that ended without them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING

from .actors.ledger import Ledger
from .errors import RuntimeClosed
from .operations import cancel
from .storage.errors import Refused, StoreClosed, StoreFailed
from .storage.interface import LeftBehind
from .storage.records import Status

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Reaper"]

_PAGE = 200
_PAUSE = 1.0
"""Seconds before children whose cancellation was refused are looked at again."""
_WITHOUT_SUCCESS = (Status.FAILED, Status.CANCELLED)


class Reaper:
    """One asyncio task that cancels, page by page, what the store shows as left behind.

    The commit that ends a parent marks it in the store, and the last end of a child takes the mark
    away: so a reaper that dies half way leaves the rest to the next one.
    """

    def __init__(self, session: Session, *, on_failure: Callable[[Exception], None]) -> None:
        """`on_failure` is told why it cannot go on, where that is a fault of ours."""
        self._session = session
        self._on_failure = on_failure
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin with what an earlier process has left."""
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._work(), name="everstep reaper", context=Context())
        self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Cancel no more. What is left is done by the next runtime."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._on_failure(error)

    def told(self, ledger: Ledger) -> None:
        """Told of each commit of a task."""
        if ledger.status in _WITHOUT_SUCCESS:
            self._more.set()

    async def _work(self) -> None:
        with suppress(RuntimeClosed, StoreFailed, StoreClosed):  # told by those who stop for it
            while True:
                self._more.clear()
                while page := await self._session.store.left_behind(limit=_PAGE):
                    done = await asyncio.gather(*map(self._cancelled, page))
                    if not any(done):
                        await self._session.clock.sleep(_PAUSE)
                await self._more.wait()

    async def _cancelled(self, child: LeftBehind) -> bool:
        """Cancel one, or find that it has ended; False where the store refused it."""
        what = "has failed" if child.status is Status.FAILED else "was cancelled"
        try:
            await cancel(self._session, child.id, None, f"its parent {child.parent} {what}")
        except Refused:
            return False
        return True
