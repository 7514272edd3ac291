"""Brings the children of a task after it, where they are to follow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING

from .actors.failures import ParentPaused
from .errors import RuntimeClosed
from .operations import cancel, pause, resume
from .storage.errors import Refused, StoreClosed, StoreFailed
from .storage.kin import PARENT_PAUSED, Asks, Straggler, asks_of
from .storage.records import Status

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Shepherd"]

_PAGE = 200
_PAUSE = 1.0
"""Seconds before children are looked at again that could not be brought after their parent."""


class Shepherd:
    """One asyncio task that ends, pauses and resumes, page by page, what the store shows to lag.

    The commit that ends, pauses or resumes a parent marks it in the store, and that of the last
    child to follow takes the mark away: so one that dies half way leaves the rest to the next.
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
        self._task = loop.create_task(self._work(), name="everstep shepherd", context=Context())
        self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Do no more. What is left is done by the next runtime."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def look(self) -> None:
        """Told when children may have to follow their parent."""
        self._more.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._on_failure(error)

    async def _work(self) -> None:
        with suppress(RuntimeClosed, StoreFailed, StoreClosed):  # told by those who stop for it
            while True:
                self._more.clear()
                page = await self._session.store.stragglers(limit=_PAGE)
                if not any(await asyncio.gather(*map(self._brought, page))):
                    await self._told(again=bool(page))

    async def _told(self, *, again: bool) -> None:
        """Return when there may be more to do; `again`: after a pause in any case."""
        timer = self._session.clock.call_later(_PAUSE, self._more.set) if again else None
        try:
            await self._more.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _brought(self, child: Straggler) -> bool:
        """Bring it after its parent; False where it takes time, was refused, or moved by itself."""
        session, parent = self._session, child.parent
        try:
            match asks_of(child.status):
                case Asks.GO_ON:
                    why = f"its parent {parent} goes on"
                    return await resume(session, child.id, None, why, along=True)
                case Asks.PAUSE:
                    return await pause(session, child.id, PARENT_PAUSED, ParentPaused(parent))
                case Asks.END:
                    what = "has failed" if child.status is Status.FAILED else "was cancelled"
                    return await cancel(session, child.id, None, f"its parent {parent} {what}")
        except Refused:
            return False
