"""What a runtime offers to start tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, TypeVar, overload

from .actors.actor import Actor
from .actors.newborn import check_actor
from .actors.offspring import Flow
from .bulk import Bulk, Terms, paired
from .checking import name_or_none, priority_of
from .ids import check_name, new_id
from .session import Session
from .starting import Order, create
from .task import Task

__all__ = ["Starts"]

R = TypeVar("R")


class Starts(ABC):
    """The part of a runtime that starts tasks. Every method raises RuntimeClosed outside."""

    @overload
    async def start(
        self,
        actor: Flow[R],
        *,
        id: str | None = None,
        priority: int = 0,
        pool: str | None = None,
        lane: str | None = None,
    ) -> Task[R]: ...
    @overload
    async def start(
        self,
        actor: Actor,
        *,
        id: str | None = None,
        priority: int = 0,
        pool: str | None = None,
        lane: str | None = None,
    ) -> Task[Any]: ...
    async def start(
        self,
        actor: object,
        *,
        id: str | None = None,  # noqa: A002  the word of the design, and of every task store
        priority: int = 0,
        pool: str | None = None,
        lane: str | None = None,
    ) -> Task[Any]:
        """Make a task durable and let it run. When this returns, it is in the store.

        An `id` that exists returns the same task, if actor and the fields that were set are
        equal. Tasks of a higher `priority` are started first; of equal ones, those of each `lane`
        (a user, say) get their share of the slots. Cancelled, the task may be started.

        Raises:
            TaskExists: the id has another actor, or other fields.
            BadCall, BadActor: this cannot be started; nothing was written.
            NotSerializable, PayloadTooLarge: a field cannot be stored; nothing was written.
        """
        session = self._open()
        session.check()
        checked = check_actor(actor)
        task_id = new_id(session.clock.now()) if id is None else check_name("id", id)
        order = Order(
            actor=checked,
            task_id=task_id,
            pool=session.pool_name(pool),
            priority=priority_of(priority),
            lane=name_or_none("lane", lane),
            seed=session.new_seed(task_id),
        )
        session.catalogue.tell(type(checked))
        return Task(self._open, task_id, await create(session, order))

    @overload
    async def start_many(
        self,
        actors: Iterable[Flow[R]],
        *,
        ids: Iterable[str | None] | None = None,
        priority: int = 0,
        pool: str | None = None,
        lane: str | None = None,
    ) -> list[Task[R]]: ...
    @overload
    async def start_many(
        self,
        actors: Iterable[Actor],
        *,
        ids: Iterable[str | None] | None = None,
        priority: int = 0,
        pool: str | None = None,
        lane: str | None = None,
    ) -> list[Task[Any]]: ...
    async def start_many(
        self,
        actors: object,
        *,
        ids: object = None,
        priority: int = 0,
        pool: str | None = None,
        lane: str | None = None,
    ) -> list[Task[Any]]:
        """Make a task of each actor durable, and let them run. When this returns, all are stored.

        They are written in order, up to 500 in a commit, or to a megabyte of state: of each commit
        all are started or none. So what ends the call early, an error, a cancellation, or the
        death of the process, leaves the first ones, without a gap, and those of the last commit
        may be started although nobody was told. With `ids`, one for each actor, the call can
        be made again: an id that exists stands for the task that is there, as in `start`.

        `actors` and `ids` may be iterators, which are read as far as the next commit needs them.
        The tasks are queued, and let in by `priority`, lane and age like any others.

        Returns their handles in the order of the actors.

        Raises:
            NotStarted: an actor cannot be started, or its id has another task. It names its place
                and how many are started, and has as its cause what `start` would raise.
            BadCall: the ids are not as many as the actors, or an option cannot be.
        """
        session = self._open()
        session.check()
        pairs = paired(actors, ids)
        bulk = Bulk(
            session,
            Terms(session.pool_name(pool), priority_of(priority), name_or_none("lane", lane)),
        )
        await bulk.run(pairs)
        return [Task(self._open, task_id, key) for task_id, key in bulk.started]

    @abstractmethod
    def _open(self) -> Session:
        """What exists while it is entered. Raises RuntimeClosed."""
