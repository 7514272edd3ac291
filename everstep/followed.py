"""What the store holds more and more of, read in pages and followed as it grows."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Generic, Self, TypeVar

from .session import Session
from .storage.records import ENDED

__all__ = ["Followed", "FollowedTask"]

T = TypeVar("T")


class Followed(ABC, Generic[T]):
    """Iterates over what there is after a place. Holds nothing but a page between two items.

    With `follow` it waits for what comes, and is woken by the commit that brings it. A reader that
    is slow holds up nobody, and costs no memory: what it has not read lies in the store.
    """

    def __init__(self, session: Session, follow: bool) -> None:
        self._session = session
        self._follow = follow
        self._page: deque[T] = deque()
        self._turn = asyncio.Lock()
        self._over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while not self._page:
            if self._over:
                raise StopAsyncIteration
            async with self._turn:  # where several take from it, each item goes to one of them
                if not self._page and not self._over:
                    await self._read()
        item = self._page.popleft()
        self._passed(item)
        return item

    async def aclose(self) -> None:
        """End the iteration."""
        self._over = True
        self._page.clear()

    async def _read(self) -> None:
        """Get the next page; or wait for it; or find that there is none."""
        self._session.check()
        with await self._watch() as committed:
            if await self._fill():
                return
            if not self._follow:
                self._over = True
            elif await self._has_ended():
                self._over = not await self._fill()  # what came with the end, or before it
            else:
                await committed

    async def _fill(self) -> bool:
        """Put the next items on the page; whether there are any."""
        self._page.extend(await self._next())
        return bool(self._page)

    @abstractmethod
    async def _watch(self) -> AbstractContextManager[asyncio.Future[None]]:
        """A future of the next commit that may bring something."""

    @abstractmethod
    async def _next(self) -> Iterable[T]:
        """The next items, as far as they are committed; some of them at least."""

    @abstractmethod
    async def _has_ended(self) -> bool:
        """Whether nothing more is written."""

    @abstractmethod
    def _passed(self, item: T) -> None:
        """Go on after this item."""


class FollowedTask(Followed[T]):
    """Of one task, until that has ended."""

    def __init__(self, session: Session, task_id: str, follow: bool) -> None:
        super().__init__(session, follow)
        self._task_id = task_id
        self._found: int | None = None

    async def _key(self) -> int:
        """The task's key. Raises TaskNotFound."""
        if self._found is None:
            self._found = (await self._session.row(self._task_id)).key
        return self._found

    async def _watch(self) -> AbstractContextManager[asyncio.Future[None]]:
        return self._session.commits.watch(await self._key())

    async def _has_ended(self) -> bool:
        return (await self._session.row(self._task_id)).progress.status in ENDED
