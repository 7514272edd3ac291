"""Queues the tasks that left memory, when the first of their waits falls due."""

from __future__ import annotations

import logging

from ..actors.environment import Environment
from ..actors.ledger import Ledger
from ..storage.errors import Refused
from .applying import apply
from .decisions import at_wake

__all__ = ["Waking"]

_LOG = logging.getLogger("everstep")
_PAGE = 500


class Waking:
    """Stands for all tasks of a pool that wait as rows: one query tells which of them are due."""

    def __init__(self, pool: str, environment: Environment) -> None:
        self._pool = pool
        self._environment = environment
        self._store = environment.store

    async def run(self) -> None:
        """Queue all that are due. Each is a commit of its own. Raises StoreFailed."""
        while await self._page() == _PAGE:
            pass

    async def _page(self) -> int:
        now, since_boot = self._now()
        rows = await self._store.due_waits(self._pool, now=now, since_boot=since_boot, limit=_PAGE)
        ledgers = [Ledger(self._environment, row) for row in rows]
        for ledger in ledgers:
            apply(ledger, at_wake(ledger.progress))
            ledger.write()
        for ledger in ledgers:
            try:
                await ledger.durable()
            except Refused as refused:
                _LOG.debug("somebody else has woken it: %s", refused)
        return len(rows)

    async def next_due(self) -> float | None:
        """Seconds until the next wait of a task that left memory falls due; None without any."""
        now, since_boot = self._now()
        return await self._store.next_wait(self._pool, now=now, since_boot=since_boot)

    def _now(self) -> tuple[float, float | None]:
        clock = self._environment.clock
        boot, since = clock.boot()
        return clock.now(), since if boot else None
