"""The log of one task, and that of all tasks, read in pages and followed as it grows."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager

from .followed import Followed, FollowedTask
from .reading import Event, event_of
from .session import Session

__all__ = ["EventStream", "LogStream"]

_PAGE = 200


class EventStream(FollowedTask[Event]):
    """Iterates over the events of a task, in the order of their numbers."""

    def __init__(self, session: Session, task_id: str, after: int, follow: bool) -> None:
        super().__init__(session, task_id, follow)
        self._after = after

    async def _next(self) -> Iterable[Event]:
        store = self._session.store
        found = await store.events(await self._key(), after=self._after, limit=_PAGE)
        return map(event_of, found)

    def _passed(self, item: Event) -> None:
        self._after = item.number


class LogStream(Followed[Event]):
    """Iterates over the events of all tasks, in the order of their commits."""

    def __init__(
        self,
        session: Session,
        after: int,
        follow: bool,
        *,
        kinds: Collection[str],
        actors: Collection[str],
        pool: str | None,
    ) -> None:
        super().__init__(session, follow)
        self._after = after
        self._kinds = kinds
        self._actors = actors
        self._pool = pool

    async def _watch(self) -> AbstractContextManager[asyncio.Future[None]]:
        return self._session.commits.watch_all()

    async def _next(self) -> Iterable[Event]:
        """The next that are wanted. The place moves on over those that are not."""
        while True:
            found, upto = await self._session.store.log(
                after=self._after,
                limit=_PAGE,
                kinds=self._kinds,
                actors=self._actors,
                pool=self._pool,
            )
            if found or upto == self._after:
                return map(event_of, found)
            self._after = upto

    async def _has_ended(self) -> bool:
        return False

    def _passed(self, item: Event) -> None:
        self._after = item.position
