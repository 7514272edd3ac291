"""`ctx.gather` and `ctx.map`: many children, so many of them at once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from .children import ChildTask
from .errors import BadCall

__all__ = ["check_limit", "gathered"]

Start = Callable[[Any, str], Coroutine[Any, Any, ChildTask[Any]]]
"""Starts a child under a key."""

_NO_MORE = object()


def check_limit(limit: object) -> int:
    """How many children may be unfinished at once. Raises BadCall."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise BadCall("limit", limit, "is no number of children, 1 or more", "limit=10")
    return limit


async def gathered(actors: Iterator[Any], start: Start, number: int, limit: int) -> list[Any]:
    """Start one child after the other, `limit` at once; their results, in the order of `actors`.

    After a failure it starts no more, waits for those that were started, and raises the failure of
    the first of them in that order. `number` tells apart the calls of one `run`.
    """
    gathering = _Gathering(actors, start, number)
    async with asyncio.TaskGroup() as group:
        for _ in range(limit):
            group.create_task(gathering.work())
    if gathering.failed:
        raise gathering.failed[min(gathering.failed)]
    return [gathering.results[place] for place in range(len(gathering.results))]


class _Gathering:
    """What the workers of one call share: who is next, and what became of the others."""

    def __init__(self, actors: Iterator[Any], start: Start, number: int) -> None:
        self._actors = actors
        self._places = itertools.count()
        self._start = start
        self._number = number
        self.results: dict[int, Any] = {}
        self.failed: dict[int, Exception] = {}

    async def work(self) -> None:
        """Start the next child and wait for it, until there is none or one has failed."""
        while not self.failed:
            place = next(self._places)
            try:
                actor = next(self._actors, _NO_MORE)  # may fail: what makes it is the user's
                if actor is _NO_MORE:
                    return
                child = await self._start(actor, f"gather {self._number}/{place}")
                self.results[place] = await child.result()
            except Exception as failure:  # noqa: BLE001  raised when all others have ended
                self.failed[place] = failure
