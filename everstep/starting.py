"""The first commit of a task."""

from __future__ import annotations

from typing import NamedTuple

from .actors.actor import Actor
from .actors.ledger import Ledger
from .actors.newborn import first_commit, newborn
from .session import Session
from .storage.errors import Superseded, TaskExists
from .storage.records import Loaded, NewTask, TaskRow
from .supervisor.applying import apply
from .supervisor.decisions import at_claim

__all__ = ["Order", "check_same", "create"]


class Order(NamedTuple):
    """What `start` was asked for, checked."""

    actor: Actor
    task_id: str
    pool: str
    priority: int
    lane: str | None
    seed: bytes


async def create(session: Session, order: Order) -> int:
    """Make the task durable, running already where there is room; or find that it exists.

    Returns the number under which the store keeps it. One commit. Cancelled, the task is created
    all the same, or was not asked for at all.
    Raises TaskExists where the id has another actor or other fields.
    """
    ledger, loaded = _drafted(session, order)
    pool = session.pools.get(order.pool)
    if pool is not None and pool.opens_to(order.lane):
        now = session.clock.now()
        apply(ledger, at_claim(ledger.progress, epoch=session.store.epoch, now=now))
        ledger.write()
        pool.begin(ledger, type(order.actor), loaded)
    try:
        await ledger.durable()
    except Superseded:
        row = await session.store.task(order.task_id)
        if row is None:
            raise
        check_same(row, ledger.row)
        return row.key
    return ledger.row.key


def _drafted(session: Session, order: Order) -> tuple[Ledger, Loaded]:
    """The task's first commit, not yet written, and what the store will hold after it."""
    born = newborn(
        session.environment,
        order.actor,
        task_id=order.task_id,
        pool=order.pool,
        priority=order.priority,
        lane=order.lane,
        seed=order.seed,
    )
    ledger = first_commit(session.environment, born.new, born.first)
    return ledger, born.loaded(TaskRow(*ledger.row, ledger.progress))


def check_same(stored: TaskRow | NewTask, asked: TaskRow | NewTask) -> None:
    """Raise TaskExists where a task is asked for under an id that another one has."""
    if stored.actor != asked.actor:
        raise TaskExists(stored.id, f"is of the actor {stored.actor!r}, not {asked.actor!r}")
    if stored.given != asked.given:
        raise TaskExists(stored.id, f"its {stored.actor!r} was started with other fields")
