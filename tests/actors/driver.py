"""Runs single lives of actors without a supervisor, so that a test sees each ended."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from everstep.actors.actor import Actor, actor_name, is_flow
from everstep.actors.environment import Environment
from everstep.actors.exits import Crashed, Exit
from everstep.actors.history import present
from everstep.actors.incarnation import Incarnation
from everstep.actors.ledger import Ledger
from everstep.actors.result import result_codec
from everstep.actors.schema import Schema, join, join_items
from everstep.actors.threads import Threads
from everstep.storage import Loaded, MemoryStore, NewTask, Progress, SnapshotRow, Status
from everstep.storage.interface import Store
from everstep.testing import ManualClock

__all__ = ["Driver", "driving"]


class Driver:
    """One store, one clock, and lives of tasks on them."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self.environment = Environment(store, clock, lambda: 0.5, Threads(), cleanup=1.0, grace=1.0)
        self._ids = itertools.count(1)

    async def create(self, actor: Actor, task_id: str | None = None) -> Ledger:
        """A task that is claimed and has not run yet."""
        schema, limits = Schema.of(type(actor)), self.environment.limits
        fields, items = schema.dump(actor, limits)
        key, now = self.store.new_key(), self.clock.now()
        name = task_id or f"task-{next(self._ids)}"
        new = NewTask(key, name, actor_name(type(actor)), "tasks", 0, None, "", b"seed" * 4, now)
        ledger = Ledger.create(self.environment, new, _beginning(self.store.epoch, now))
        appends = join_items(items) if any(items.values()) else None
        ledger.snapshot(SnapshotRow(key, 0, 1, schema.version, join(fields), appends))
        await ledger.durable()
        return ledger

    def life(self, ledger: Ledger, actor: type[Actor], loaded: Loaded | None = None) -> Incarnation:
        return Incarnation(self.environment, ledger, actor, reset_after=300.0, loaded=loaded)

    async def live(self, ledger: Ledger, actor: type[Actor]) -> Exit:
        return await self.life(ledger, actor).live()

    async def run(self, actor: Actor) -> Exit:
        """Create a task and live once."""
        return await self.live(await self.create(actor), type(actor))

    async def again(self, ledger: Ledger, actor: type[Actor], *, died: bool = False) -> Exit:
        """The next life of a task, on what the store knows; `died`: the last one ended so."""
        return await self.live(await self.claimed(ledger.row.id, died=died), actor)

    async def claimed(self, task_id: str, *, died: bool = False) -> Ledger:
        """A new ledger of a task as the next owner would make it."""
        row = await self.store.task(task_id)
        assert row is not None
        ledger = Ledger(self.environment, row)
        progress = row.progress
        if died:
            await self._bury(ledger)
            progress = ledger.progress
        ledger.change(
            status=Status.RUNNING, epoch=self.store.epoch, incarnation=progress.incarnation + 1
        )
        await ledger.durable()
        return ledger

    async def crash(self, ledger: Ledger, ended: Crashed) -> None:
        """Record a crash as a pool would that restarts at once."""
        for reset in ended.forget:
            ledger.reset(reset)
        ledger.change(crashes=ledger.progress.crashes + 1)
        await ledger.durable()

    async def _bury(self, ledger: Ledger) -> None:
        total = ledger.progress.deaths_total + 1
        for row in await self.store.open_steps([ledger.row.key]):
            ledger.step(row._replace(attempts=row.attempts + 1, open=0, deaths_seen=total))
        ledger.change(deaths_total=total, deaths=ledger.progress.deaths + 1)
        await ledger.durable()

    async def result(self, ledger: Ledger, actor: type[Actor]) -> Any:
        row = await self.store.task(ledger.row.id)
        assert row is not None and row.progress.output is not None
        return result_codec(actor).decode(row.progress.output)

    async def state(self, ledger: Ledger, actor: type[Actor]) -> Any:
        loaded = await self.store.load(ledger.row.key, flow=is_flow(actor))
        return present(loaded, actor, self.environment.limits)

    async def kinds(self, ledger: Ledger) -> list[str]:
        """The log in short: `kind step`."""
        events = await self.store.events(ledger.row.key, limit=10_000)
        return [f"{e.event.kind} {e.event.step or ''}".strip() for e in events]


def _beginning(epoch: int, now: float) -> Progress:
    return Progress.beginning(now)._replace(
        status=Status.RUNNING, epoch=epoch, incarnation=1, claimed_at=now
    )


@asynccontextmanager
async def driving(store: Store | None = None) -> AsyncGenerator[Driver]:
    clock = ManualClock()
    store = store or MemoryStore(clock=clock)
    await store.open()
    driver = Driver(store, clock)
    try:
        yield driver
    finally:
        driver.environment.threads.close()
        await store.close()
