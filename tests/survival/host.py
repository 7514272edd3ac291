"""Runs one task to its end in a life, and says how it stands."""

from __future__ import annotations

from typing import Any

from everstep.actors.actor import Actor, actor_name, is_flow
from everstep.actors.environment import Environment
from everstep.actors.exits import Crashed, Exit, Halted, Succeeded
from everstep.actors.failures import read_failure
from everstep.actors.history import present
from everstep.actors.incarnation import Incarnation
from everstep.actors.ledger import Ledger
from everstep.actors.result import result_codec
from everstep.actors.schema import Schema, join, join_items
from everstep.actors.threads import Threads
from everstep.storage.clock import Due, left_of
from everstep.storage.records import ENDED, NewTask, Progress, SnapshotRow, Status
from everstep.supervisor.applying import apply
from everstep.supervisor.decisions import after_crash, after_death, after_halt, at_claim
from everstep.supervisor.restart import Restart
from everstep.testing import Life

__all__ = ["to_end"]


class Host:
    def __init__(self, life: Life, actor: Actor, restart: Restart) -> None:
        self.life = life
        self.actor = actor
        self.kind = type(actor)
        self.restart = restart
        self.store = life.store()

    async def to_end(self, task_id: str) -> dict[str, Any]:
        await self.store.open()
        self.environment = Environment(self.store, self.life.clock, lambda: 0.5, Threads())
        try:
            ledger = await self._found(task_id) or await self._created(task_id)
            while ledger.status is Status.QUEUED or ledger.status is Status.RUNNING:
                if ledger.status is Status.RUNNING:
                    await self._bury(ledger)
                else:
                    ledger = await self._lived(ledger)
            return await self._standing(task_id)
        finally:
            self.environment.threads.close()
            await self.store.close()

    async def _found(self, task_id: str) -> Ledger | None:
        row = await self.store.task(task_id)
        return None if row is None else Ledger(self.environment, row)

    async def _created(self, task_id: str) -> Ledger:
        schema, limits = Schema.of(self.kind), self.environment.limits
        fields, items = schema.dump(self.actor, limits)
        key, now = self.store.new_key(), self.life.clock.now()
        new = NewTask(key, task_id, actor_name(self.kind), "tasks", 0, None, "", b"seed" * 4, now)
        progress = Progress(
            Status.QUEUED, None, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, None, None, None, None, None,
            None, now, None, None, None,
        )  # fmt: skip
        ledger = Ledger.create(self.environment, new, progress)
        appends = join_items(items) if any(items.values()) else None
        ledger.snapshot(SnapshotRow(key, 0, 1, schema.version, join(fields), appends))
        ledger.event("task_started")
        await ledger.durable()
        return ledger

    async def _bury(self, ledger: Ledger) -> None:
        decision = after_death(ledger.progress, self.restart, alone=True)
        total = decision.progress.deaths_total
        if total != ledger.progress.deaths_total:
            for row in await self.store.open_steps([ledger.row.key]):
                ledger.step(row._replace(attempts=row.attempts + 1, open=0, deaths_seen=total))
                ledger.event("step_died", step=row.identity)
        apply(ledger, decision)
        await ledger.durable()

    async def _lived(self, ledger: Ledger) -> Ledger:
        progress, clock = ledger.progress, self.life.clock
        if progress.due_at is not None:
            due = Due(progress.due_at, progress.due_boot, progress.due_delay or 0.0)
            await clock.sleep(left_of(clock, due))
        apply(ledger, at_claim(ledger.progress, epoch=self.store.epoch, now=clock.now()))
        await ledger.durable()
        life = Incarnation(self.environment, ledger, self.kind, reset_after=300)
        self._conclude(ledger, await life.live())
        await ledger.durable()
        return ledger

    def _conclude(self, ledger: Ledger, ended: Exit) -> None:
        now = self.life.clock.now()
        match ended:
            case Succeeded():
                pass
            case Crashed():
                progress = ledger.progress
                decision = after_crash(progress, ended, self.restart, now=now, chance=lambda: 0.5)
                apply(ledger, decision, ended.forget)
            case Halted():
                apply(ledger, after_halt(ledger.progress, ended))
            case _:
                raise AssertionError(f"the life ended as {ended!r}")

    async def _standing(self, task_id: str) -> dict[str, Any]:
        row = await self.store.task(task_id)
        assert row is not None
        progress = row.progress
        output = None
        if progress.output is not None:
            output = result_codec(self.kind).decode(progress.output)
        loaded = await self.store.load(row.key, flow=is_flow(self.kind))
        state = present(loaded, self.kind, self.environment.limits)
        assert progress.status in ENDED or progress.status is Status.PAUSED
        events = await self.store.events(row.key, limit=100_000)
        assert [found.event.seq for found in events] == list(range(1, len(events) + 1))
        return {
            "status": str(progress.status),
            "reason": progress.reason,
            "output": output,
            "state": state.model_dump(mode="json"),
            "error": None if progress.error is None else str(read_failure(progress.error)),
            "crashes": progress.crashes,
            "deaths": progress.deaths_total,
            "attempts": {row.identity: row.attempts for _, row in await self.store.steps(row.key)},
        }


async def to_end(
    life: Life, actor: Actor, task_id: str = "task", *, restart: Restart | None = None
) -> dict[str, Any]:
    """Start the task unless it exists, let it end or pause, and tell how it stands."""
    return await Host(life, actor, restart or Restart(3)).to_end(task_id)
