"""`ctx.gather` and `ctx.map`: many children, so many of them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from .children import ChildTask
from .errors import BadCall

__all__ = ["check_limit", "gathered"]

Start = Callable[[Any, str], Coroutine[Any, Any, ChildTask[Any]]]
"""Starts the child that is made of an input, under a key."""


def check_limit(limit: object) -> int:
    """How many children may be unfinished at once. Raises BadCall."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise BadCall("limit", limit, "is no number of children, 1 or more", "limit=10")
    return limit


async def gathered(
    inputs: Iterable[Any],
    start: Start,
    was_started: Callable[[str], bool],
    number: int,
    limit: int,
) -> list[Any]:
    """Start one child after the other, `limit` at once; their results, in the order of `inputs`.

    After a failure it starts no more, waits for those that were started, in an earlier life too,
    and raises the failure of the first of them in that order. `was_started` tells of a key whether
    a child was started under it in an earlier life; `number` tells apart the calls of one `run`.
    """
    gathering = _Gathering(inputs, start, was_started, number)
    async with asyncio.TaskGroup() as group:
        for _ in range(limit):
            group.create_task(gathering.work())
    if gathering.failed:
        raise gathering.failed[min(gathering.failed)]
    return [gathering.results[place] for place in range(len(gathering.results))]


class _Gathering:
    """What the workers of one call share: who is next, and what became of the others."""

    def __init__(
        self,
        inputs: Iterable[Any],
        start: Start,
        was_started: Callable[[str], bool],
        number: int,
    ) -> None:
        self._next = enumerate(inputs)
        self._start = start
        self._was_started = was_started
        self._number = number
        self.results: dict[int, Any] = {}
        self.failed: dict[int, Exception] = {}

    async def work(self) -> None:
        """Start the next child and wait for it, until there is none, or none to be waited for."""
        for place, given in self._next:  # which all workers share
            key = f"gather {self._number}/{place}"
            if self.failed and not self._was_started(key):
                continue
            try:
                child = await self._start(given, key)
                self.results[place] = await child.result()
            except Exception as failure:  # noqa: BLE001  raised when all others have ended
                self.failed[place] = failure
