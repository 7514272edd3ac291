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
from .storage.kin import BEGINNING, PARENT_PAUSED, Asks, Straggler
from .storage.records import Status

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Shepherd"]

_PAUSE = 1.0
"""Seconds before children are looked at again that could not be brought after their parent."""


class Shepherd:
    """Ends, pauses and resumes, page by page, what the store shows to lag.

    The commit that ends, pauses or resumes a parent marks it in the store, and that of the last
    child to follow takes the mark away: so one that dies half way leaves the rest to the next.
    There is an asyncio task for each thing that is asked, so who is to end waits for nobody who
    is to be paused.
    """

    def __init__(self, session: Session, *, on_failure: Callable[[Exception], None]) -> None:
        """`on_failure` is told why it cannot go on, where that is a fault of ours."""
        self._session = session
        self._on_failure = on_failure
        self._more = {asks: asyncio.Event() for asks in Asks}
        self._tasks: list[asyncio.Task[None]] = []
        self.page = 200
        """How many children are read, and brought after their parents, at a time."""

    def start(self) -> None:
        """Begin with what an earlier process has left."""
        loop = asyncio.get_running_loop()
        for asks in Asks:
            name = f"everstep shepherd: {asks}"
            task = loop.create_task(self._work(asks), name=name, context=Context())
            task.add_done_callback(self._ended)
            self._tasks.append(task)

    async def stop(self) -> None:
        """Do no more. What is left is done by the next runtime."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def look(self) -> None:
        """Told when children may have to follow their parent."""
        for more in self._more.values():
            more.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._on_failure(error)

    async def _work(self, asks: Asks) -> None:
        more = self._more[asks]
        with suppress(RuntimeClosed, StoreFailed, StoreClosed):  # told by those who stop for it
            while True:
                more.clear()
                lag, moved = await self._round(asks)
                if not moved:
                    await self._told(more, again=lag)

    async def _round(self, asks: Asks) -> tuple[bool, bool]:
        """Bring all that lag now, page by page: whether any do, and whether one has followed.

        Those on their way already are passed by, and not awaited.
        """
        lag, moved, after, full = False, False, BEGINNING, True
        while full:
            page = await self._session.store.stragglers(asks, after=after, limit=self.page)
            if not page:
                break
            lag, after, full = True, page[-1][0], len(page) == self.page
            bringing = [
                self._brought(asks, child)
                for place, child in page
                if asks is not Asks.PAUSE or not self._is_on_its_way(place.child)
            ]
            moved = any(await asyncio.gather(*bringing)) or moved
        return lag, moved

    def _is_on_its_way(self, key: int) -> bool:
        """Whether a child that is to be paused has been told, and lets its steps end."""
        life = self._session.pools.life(key)
        return life is not None and life.is_draining

    async def _told(self, more: asyncio.Event, *, again: bool) -> None:
        """Return when there may be more to do; `again`: after a pause in any case."""
        timer = self._session.clock.call_later(_PAUSE, more.set) if again else None
        try:
            await more.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _brought(self, asks: Asks, child: Straggler) -> bool:
        """Bring it after its parent; False where it takes time, was refused, or moved by itself."""
        session, parent = self._session, child.parent
        try:
            match asks:
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
