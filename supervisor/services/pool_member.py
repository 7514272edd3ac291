"""A pool as a child of a supervisor: started, stopped, given up and started again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Protocol

from ..errors import NoProc
from ..pool import LivePool
from ..pool_info import PoolListener
from ..pool_spec import Pool
from .exits import BRUTAL, DOWN, Exit, crash
from .leftovers import keep_until_done
from .messages import Exited, NotStarted, Started
from .service import Report

__all__ = ["PoolMember", "PoolOpener"]

_TRIES = 4
"""How often a stop is begun again that the end of the loop has cancelled."""


class PoolOpener(Protocol):
    """What opens the pools of one runtime, and closes them."""

    def open(
        self,
        spec: Pool,
        path: str,
        *,
        on_failure: Callable[[Exception], None],
        on_event: PoolListener,
    ) -> LivePool: ...

    async def close(self, pool: LivePool, *, hurried: bool = False) -> None: ...


class PoolMember:
    """One life of a pool. Its tasks are given back when it stops, whatever the reason."""

    def __init__(
        self,
        pools: PoolOpener,
        path: str,
        id: str,  # noqa: A002
        number: int,
        report: Callable[[Report], None],
    ) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pools = pools
        self._path = path
        self._id = id
        self._number = number
        self._report = report
        self._pool: LivePool | None = None
        self._ending: Exit | None = None
        self._closing: asyncio.Task[None] | None = None
        self._tries = 0

    @property
    def works(self) -> bool:
        """Whether it was opened and is not to end."""
        return self._pool is not None and self._ending is None

    def pool(self) -> LivePool:
        """The pool itself. Raises NoProc once it is to end."""
        if self._pool is None or not self.works:
            raise NoProc(self._path, "pool")
        return self._pool

    def start(self, spec: Pool, handle: object, on_event: PoolListener) -> None:
        """Open the pool, with `handle` as the value it is known by. A failure is reported."""
        try:
            self._pool = self._pools.open(
                spec, self._path, on_failure=self._failed, on_event=on_event
            )
        except Exception as error:  # noqa: BLE001  (the supervisor's boundary: it is reported)
            self.ended.set_result(None)
            self._report(NotStarted(self._id, self._number, crash(error)))
            return
        self._report(Started(self._id, self._number, handle))

    def adapt(self, spec: Pool) -> None:
        """Go on by another policy of the same name."""
        if self.works:
            self.pool().reconfigure(spec)

    def stop(self, budget: float | None, *, swept: bool) -> None:
        """Stop it; its own seconds of grace bound that."""
        self._end(DOWN)

    def kill(self) -> None:
        """Cut off its tasks at once. They are still given back, for which nobody waits."""
        self._end(BRUTAL, hurried=True)
        self._over()

    def _failed(self, error: Exception) -> None:
        self._end(crash(error))

    def _end(self, ended: Exit, *, hurried: bool = False) -> None:
        if self._ending is None:
            self._ending = ended
            self._close(hurried=hurried)
        elif hurried and self._closing is not None and not self._closing.done():
            self._closing.cancel()  # and it is begun again, in a hurry

    def _close(self, *, hurried: bool) -> None:
        if self._pool is None:
            return
        self._tries += 1
        loop = asyncio.get_running_loop()
        name = f"everstep stop {self._path}"
        closing = self._pools.close(self._pool, hurried=hurried)
        self._closing = loop.create_task(closing, name=name, context=Context())
        self._closing.add_done_callback(self._closed)
        keep_until_done(self._closing)

    def _closed(self, closing: asyncio.Task[None]) -> None:
        if closing.cancelled() and self._tries < _TRIES:
            self._close(hurried=True)
            return
        error = None if closing.cancelled() else closing.exception()
        if isinstance(error, Exception) and self._ending is DOWN:
            self._ending = crash(error)
        self._over()

    def _over(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)
            self._report(Exited(self._id, self._number, self._ending or DOWN))
