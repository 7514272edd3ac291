"""A task before anything has happened to it: checked, and as the store is to hold it."""

from __future__ import annotations

from typing import NamedTuple

from ..storage.records import NewTask, SnapshotRow
from .actor import Actor, actor_name, check_plan, is_generic
from .environment import Environment
from .errors import BadActor, BadCall
from .schema import Schema, join, join_items

__all__ = ["Newborn", "check_actor", "newborn"]


class Newborn(NamedTuple):
    """The parts of a task's first commit that follow from its actor."""

    new: NewTask
    first: SnapshotRow


def newborn(
    environment: Environment,
    actor: Actor,
    *,
    task_id: str,
    pool: str,
    priority: int,
    lane: str | None,
    seed: bytes,
    parent: int | None = None,
    on_parent: str | None = None,
) -> Newborn:
    """What is stored of a new task, under a key of its own. Raises what `Schema.dump` does."""
    schema = Schema.of(type(actor))
    fields, items = schema.dump(actor, environment.limits)
    new = NewTask(
        key=environment.store.new_key(),
        id=task_id,
        actor=actor_name(type(actor)),
        pool=pool,
        priority=priority,
        lane=lane,
        given=schema.given(actor),
        seed=seed,
        created_at=environment.clock.now(),
        parent=parent,
        on_parent=on_parent,
    )
    appends = join_items(items) if any(items.values()) else None
    return Newborn(new, SnapshotRow(new.key, 0, 1, schema.version, join(fields), appends))


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
