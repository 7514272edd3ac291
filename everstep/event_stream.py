"""The log of one task, read in pages and followed as it grows."""

from __future__ import annotations

from collections import deque
from typing import Self

from .reading import Event, event_of
from .session import Session
from .storage.records import ENDED

__all__ = ["EventStream"]

_PAGE = 200


class EventStream:
    """Iterates over the events of a task. Holds nothing but a page of them between two of them."""

    def __init__(self, session: Session, task_id: str, after: int, follow: bool) -> None:
        self._session = session
        self._task_id = task_id
        self._after = after
        self._follow = follow
        self._key: int | None = None
        self._page: deque[Event] = deque()
        self._over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._page:
            if self._over:
                raise StopAsyncIteration
            await self._read()
        event = self._page.popleft()
        self._after = event.number
        return event

    async def aclose(self) -> None:
        """End the iteration."""
        self._over = True
        self._page.clear()

    async def _read(self) -> None:
        """Get the next page; or wait for it; or find that there is none."""
        if self._key is None:
            self._key = (await self._session.row(self._task_id)).key
        self._session.check()
        with self._session.commits.watch(self._key) as committed:
            if await self._fill(self._key):
                return
            if not self._follow or await self._has_ended():
                self._over = True
                return
            await committed

    async def _fill(self, key: int) -> bool:
        found = await self._session.store.events(key, after=self._after, limit=_PAGE)
        self._page.extend(event_of(recorded.event) for recorded in found)
        return bool(found)

    async def _has_ended(self) -> bool:
        progress = (await self._session.row(self._task_id)).progress
        return progress.status in ENDED and progress.event_seq <= self._after
