"""Queues the tasks that left memory, when the first of their waits falls due; gives reminders."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from ..actors.environment import Environment
from ..actors.ledger import Ledger
from ..actors.reminders import next_reminder, remind
from ..actors.rows import due_of
from ..actors.timers import is_wait
from ..storage.clock import Due, left_of
from ..storage.errors import Refused
from ..storage.records import StepRow, TaskRow
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
        """Queue all that are due. Each is a commit of its own. Raises StoreFailed.

        A task of which nothing but reminders is due stays where it is: they are given here.
        """
        while await self._page() == _PAGE:
            pass

    async def _page(self) -> int:
        now, since_boot = self._now()
        rows = await self._store.due_waits(self._pool, now=now, since_boot=since_boot, limit=_PAGE)
        ledgers = [Ledger(self._environment, row) for row in rows]
        waits = await self._waits(rows)
        for ledger in ledgers:
            if not _reminded(ledger, waits[ledger.row.key]):
                apply(ledger, at_wake(ledger.progress))
            ledger.write()
        for ledger in ledgers:
            try:
                await ledger.durable()
            except Refused as refused:
                _LOG.debug("somebody else has woken it: %s", refused)
        return len(rows)

    async def _waits(self, rows: list[TaskRow]) -> defaultdict[int, list[StepRow]]:
        """What the tasks wait for, of those that may ask somebody."""
        found: defaultdict[int, list[StepRow]] = defaultdict(list)
        listening = [row.key for row in rows if row.progress.listens]
        for row in await self._store.open_waits(listening) if listening else ():
            if is_wait(row):
                found[row.task].append(row)
        return found

    async def next_due(self) -> float | None:
        """Seconds until the next wait of a task that left memory falls due; None without any."""
        now, since_boot = self._now()
        return await self._store.next_wait(self._pool, now=now, since_boot=since_boot)

    def _now(self) -> tuple[float, float | None]:
        clock = self._environment.clock
        boot, since = clock.boot()
        return clock.now(), since if boot else None


def _reminded(ledger: Ledger, waits: Sequence[StepRow]) -> bool:
    """Give the reminders that are due, and say until when the task waits on; False where it ends.

    All is put on the ledger, and nothing where one of its waits is over.
    """
    clock = ledger.clock
    left = partial(left_of, clock)
    ends = [due for row in waits if (due := due_of(row)) is not None]
    if any(left(due) <= 0 for due in ends):
        return False
    asked = [(row, due) for row in waits if (due := next_reminder(row, clock)) is not None]
    if not any(left(due) <= 0 for _, due in asked):
        return False
    dues: list[Due] = ends
    for row, due in asked:
        after = due if left(due) > 0 else next_reminder(remind(ledger, row), clock)
        if after is not None:
            dues.append(after)
    ledger.due(min(dues, key=left))
    return True
