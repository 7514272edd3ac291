"""A task before anything has happened to it: checked, and as the store is to hold it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, TypeGuard

from ..storage.records import ChildRow, EventRow, NewTask, Progress, SnapshotRow, TaskRow
from .actor import Actor, actor_name, check_plan, is_generic
from .environment import Environment
from .errors import BadActor, BadCall
from .history import Begun
from .ledger import Ledger
from .schema import Frame, Schema, join, join_items
from .state import encoded_state
from .values import Limits
from .written import check_questions

__all__ = [
    "Newborn",
    "Template",
    "check_actor",
    "first_commit",
    "newborn",
    "queued",
    "template_of",
]


class Template(NamedTuple):
    """The state with which a task begins, as it is stored."""

    actor: str
    given: str
    version: int
    state: bytes
    appends: bytes | None
    frame: Frame


class Newborn(NamedTuple):
    """The parts of a task's first commit that follow from its actor."""

    new: NewTask
    first: SnapshotRow
    frame: Frame

    def loaded(self, row: TaskRow) -> Begun:
        """What the store will hold of the task once its first commit is written."""
        held = () if self.first.appends is None else ((0, self.first.appends),)
        return Begun(row, self.first, (), (), held, (), self.frame)


def template_of(actor: Actor, limits: Limits) -> Template:
    """What is stored of an actor. Raises NotSerializable, PayloadTooLarge."""
    schema = Schema.of(type(actor))
    frame, items = schema.begun(actor, limits)
    appends = join_items(items) if any(items.values()) else None
    name, given = actor_name(type(actor)), schema.given(actor)
    state = join(encoded_state(frame))
    return Template(name, given, schema.version, state, appends, frame)


def first_commit(environment: Environment, new: NewTask, first: SnapshotRow, **said: str) -> Ledger:
    """The ledger of a task that its first commit creates, queued; not yet written.

    `said` is what the log tells of its start, besides the actor.
    """
    ledger = Ledger.create(environment, new, Progress.beginning(new.created_at))
    ledger.snapshot(first)
    ledger.event("task_started", data={"actor": new.actor, **said})
    return ledger


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
    template = template_of(actor, environment.limits)
    new = NewTask(
        key=environment.store.new_key(),
        id=task_id,
        actor=template.actor,
        pool=pool,
        priority=priority,
        lane=lane,
        given=template.given,
        seed=seed,
        created_at=environment.clock.now(),
        parent=parent,
        on_parent=on_parent,
    )
    first = SnapshotRow(new.key, 0, 1, template.version, template.state, template.appends)
    return Newborn(new, first, template.frame)


def queued(born: Newborn, told: bytes) -> ChildRow:
    """A new task as it begins, queued; `told` is what the log tells of its start, as JSON."""
    now = born.new.created_at
    event = EventRow(born.new.key, 1, now, "task_started", None, told)
    return ChildRow(born.new, Progress.beginning(now)._replace(event_seq=1), born.first, event)


def check_actor(actor: object, fit: Collection[type[Actor]] = ()) -> Actor:
    """The actor, if it can be started; `fit` are classes of which that is known.

    Raises BadCall, BadActor.
    """
    if not isinstance(actor, Actor):
        raise _no_instance(actor)
    if type(actor) not in fit:
        _check_class(type(actor))
    _check_private(actor)
    return actor


def _check_class(cls: type[Actor]) -> None:
    if is_generic(cls):
        name = cls.__name__.partition("[")[0]
        raise BadActor(
            f"the actor {cls.__name__}",
            "a task is stored under the name of its class, and a generic class has none of its own",
            f"class My{name}({cls.__name__}): … and start that",
        )
    check_plan(cls)
    check_questions(cls, Actor)


def _no_instance(given: object) -> BadCall:
    if _is_class(given):
        why = "is the class, and a task begins with an instance of it"
        return BadCall("actor", given, why, f"{given.__name__}(…)")
    instead = "start(Report(topic=…)), with an instance of an Actor"
    return BadCall("actor", given, "is no actor", instead)


def _is_class(value: object) -> TypeGuard[type[Actor]]:
    return isinstance(value, type) and issubclass(value, Actor)


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
