"""The first commit of a task."""

from __future__ import annotations

from dataclasses import dataclass

from .actors.actor import Actor, actor_name, check_plan, is_generic
from .actors.errors import BadActor, BadCall
from .actors.ledger import Ledger
from .actors.schema import Schema, join, join_items
from .session import Session
from .storage.errors import Superseded, TaskExists
from .storage.records import Loaded, NewTask, Progress, SnapshotRow, TaskRow
from .supervisor.applying import apply
from .supervisor.decisions import at_claim

__all__ = ["Order", "check_actor", "create"]


@dataclass(frozen=True, slots=True)
class Order:
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
    ledger, schema, loaded = _drafted(session, order)
    pool = session.pools.get(order.pool)
    if pool is not None and pool.opens_to(order.lane):
        now = session.clock.now()
        apply(ledger, at_claim(ledger.progress, epoch=session.store.epoch, now=now))
        ledger.write()
        pool.begin(ledger, schema.actor, loaded)
    try:
        await ledger.durable()
    except Superseded:
        row = await session.store.task(order.task_id)
        if row is None:
            raise
        _check_same(row, ledger.row)
        return row.key
    return ledger.row.key


def _drafted(session: Session, order: Order) -> tuple[Ledger, Schema, Loaded]:
    """The task's first commit, not yet written, and what the store will hold after it."""
    actor, store = order.actor, session.store
    schema = Schema.of(type(actor))
    fields, items = schema.dump(actor, session.environment.limits)
    now = session.clock.now()
    new = NewTask(
        key=store.new_key(),
        id=order.task_id,
        actor=actor_name(type(actor)),
        pool=order.pool,
        priority=order.priority,
        lane=order.lane,
        given=schema.given(actor),
        seed=order.seed,
        created_at=now,
    )
    appends = join_items(items) if any(items.values()) else None
    first = SnapshotRow(new.key, 0, 1, schema.version, join(fields), appends)
    ledger = Ledger.create(session.environment, new, Progress.beginning(now))
    ledger.snapshot(first)
    ledger.event("task_started", data={"actor": new.actor})
    held = () if appends is None else ((0, appends),)
    return ledger, schema, Loaded(ledger.row, first, (), (), held, ())


def _check_same(stored: TaskRow, asked: TaskRow) -> None:
    if stored.actor != asked.actor:
        raise TaskExists(stored.id, f"is of the actor {stored.actor!r}, not {asked.actor!r}")
    if stored.given != asked.given:
        raise TaskExists(stored.id, f"its {stored.actor!r} was started with other fields")


def check_actor(actor: object) -> Actor:
    """The actor, if it can be started. Raises BadCall, BadActor."""
    if not isinstance(actor, Actor):
        instead = "start(Report(topic=…)), with an instance of an Actor"
        raise BadCall("actor", actor, "is no actor", instead)
    cls = type(actor)
    if is_generic(cls):
        name = cls.__name__.partition("[")[0]
        raise BadActor(
            f"the actor {cls.__name__}",
            "a task is stored under the name of its class, and a generic class has none of its own",
            f"class My{name}({cls.__name__}): … and start that",
        )
    check_plan(cls)
    _check_private(actor)
    return actor


def _check_private(actor: Actor) -> None:
    """Refuse attributes that pydantic carries nowhere: the lives of the task would lack them."""
    cls = type(actor)
    for name in vars(actor):
        if name.startswith("_") and not hasattr(cls, name):
            raise BadActor(
                f"the attribute {name} of {cls.__name__}",
                "it is set and not declared, so the steps of the task would not find it",
                f"{name}: … = PrivateAttr() in the class, and set it in model_post_init",
            )
