"""An asyncio task that does one thing again whenever there is a reason."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..actors.foreign import is_kind

__all__ = ["Rounds"]


class Rounds:
    """Does a round when it is started, and another one each time it was woken meanwhile.

    A round that fails is the last: `on_failure` is told why.
    """

    def __init__(
        self, do: Callable[[], Awaitable[None]], on_failure: Callable[[Exception], None]
    ) -> None:
        self._do = do
        self._on_failure = on_failure
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, name: str) -> None:
        self._task = asyncio.get_running_loop().create_task(self._manage(), name=name)
        self._task.add_done_callback(self._left)

    def wake(self) -> None:
        """There is a reason for another round."""
        self._woken.set()

    def cancel(self) -> None:
        """Do no more. What is with the store already is written whole."""
        if self._task is not None:
            self._task.cancel()

    async def ended(self) -> None:
        """Return when nothing of it runs. Cancelling changes nothing of it."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _manage(self) -> None:
        while True:
            self._woken.clear()
            await self._do()
            await self._woken.wait()

    def _left(self, task: asyncio.Task[None]) -> None:
        """The supervisor's boundary: it is told of any fault that has ended the rounds."""
        failure = None if task.cancelled() else task.exception()
        if is_kind(failure, Exception):
            self._on_failure(failure)
