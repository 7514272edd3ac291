"""Gives back what dead processes owned. May be repeated and interrupted at any point."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable

from ..actors.environment import Environment
from ..actors.exits import Released
from ..actors.ledger import Ledger
from ..storage.errors import Refused
from ..storage.records import StepRow, TaskRow
from .applying import apply, cut
from .decisions import after_death, after_release
from .giving_up import escalation
from .notices import tell_of_deaths
from .restart import Restart
from .suspects import Orphans, counted

__all__ = ["Recovery"]

_LOG = logging.getLogger("everstep")
_TURN = 50
"""Tasks of which is decided in one turn of the loop."""


class Recovery:
    """Queues the tasks that the store shows running under an epoch that is over.

    Each is one commit: the death, the attempts it cost, and what follows. `on_escalation` is told
    of a pool, by its name, that is to fail with a task that was given up. A recovery that dies
    half way leaves the rest to the next one, and makes nobody look as if it had been alone.
    """

    def __init__(
        self,
        environment: Environment,
        restart_of: Callable[[str], Restart],
        on_escalation: Callable[[str, Exception], None],
    ) -> None:
        self._environment = environment
        self._store = environment.store
        self._restart_of = restart_of
        self._on_escalation = on_escalation

    async def run(self) -> None:
        """Give back all orphans there are. Raises StoreFailed."""
        together, doubtful = Orphans(), False
        async for page in self._pages():
            for row in page:
                if not self._orderly(row):
                    together.add(row.progress)
                    doubtful |= row.progress.deaths >= self._restart_of(row.pool).suspects_from
        if doubtful:
            async for page in self._pages():
                await self._mark(page, together)
        found = 0
        async for page in self._pages():
            found += len(page)
            await self._bury(page, together)
        if found:
            tasks = "1 task" if found == 1 else f"{found} tasks"
            _LOG.info("recovered %s of processes that are gone", tasks)

    async def _pages(self) -> AsyncIterator[list[TaskRow]]:
        after = 0
        while page := await self._store.orphans(after=after):
            after = page[-1].key
            yield page

    def _orderly(self, row: TaskRow) -> bool:
        return row.progress.epoch in self._store.orderly_epochs

    async def _mark(self, page: list[TaskRow], together: Orphans) -> None:
        """Note with those for whom it decides that they were not alone, before anyone is gone."""
        ledgers: list[Ledger] = []
        for row in page:
            limit = self._restart_of(row.pool).suspects_from
            if not self._orderly(row) and together.to_mark(row.progress, limit):
                ledger = Ledger(self._environment, row)
                ledger.change(death_epoch=row.progress.epoch)
                ledgers.append(ledger)
        await _written(ledgers)

    async def _bury(self, page: list[TaskRow], together: Orphans) -> None:
        steps: dict[int, list[StepRow]] = {}
        for step in await self._store.open_steps([row.key for row in page]):
            steps.setdefault(step.task, []).append(step)
        ledgers: list[Ledger] = []
        for row in page:
            ledgers.append(self._give_back(row, steps.get(row.key, []), together))
            if len(ledgers) % _TURN == 0:
                await asyncio.sleep(0)
        for ledger in await _written(ledgers):
            tell_of_deaths(ledger.row.id, ledger.progress)
            self._escalate(ledger)

    def _escalate(self, ledger: Ledger) -> None:
        row = ledger.row
        error = escalation(row.pool, row.id, ledger.progress, self._restart_of(row.pool))
        if error is not None:
            self._on_escalation(row.pool, error)

    def _give_back(self, row: TaskRow, steps: list[StepRow], together: Orphans) -> Ledger:
        ledger = Ledger(self._environment, row)
        died = not self._orderly(row) and counted(row.progress)
        if died:
            alone = together.alone(row.progress)
            decision = after_death(row.progress, self._restart_of(row.pool), alone=alone)
            _charge(ledger, steps, decision.progress.deaths_total)
        else:
            decision = after_release(row.progress, Released())
            cut(ledger, steps)
        apply(ledger, decision)
        return ledger


def _charge(ledger: Ledger, steps: Iterable[StepRow], deaths: int) -> None:
    """End the attempts that were under way when the process died, which has cost them one each."""
    for step in steps:
        attempts = step.attempts + 1
        ledger.step(step._replace(open=0, attempts=attempts, deaths_seen=deaths))
        ledger.event("step_died", step=step.identity, data={"attempt": attempts})


async def _written(ledgers: Iterable[Ledger]) -> list[Ledger]:
    """Make all of them durable, in as few batches as the store makes of them; those that are."""
    waiting, done = list(ledgers), list[Ledger]()
    for ledger in waiting:
        ledger.write()
    for ledger in waiting:
        try:
            await ledger.durable()
            done.append(ledger)
        except Refused as refused:
            _LOG.info("somebody else has recovered it: %s", refused)
    return done
