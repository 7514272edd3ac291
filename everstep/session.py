"""What exists while a runtime is open, as its handles see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .actors.actor import Actor
from .actors.environment import Environment
from .actors.errors import BadCall, UnknownActor
from .checking import priority_of
from .commits import Commits
from .errors import RuntimeClosed
from .ids import check_name, new_seed
from .storage.clock import Clock
from .storage.errors import TaskNotFound
from .storage.interface import Store
from .storage.records import Status, TaskRow
from .supervisor.catalogue import Catalogue
from .supervisor.pools import Pools
from .supervisor.services.running import Supervision

if TYPE_CHECKING:
    from .scheduler import Scheduler
    from .shepherd import Shepherd

__all__ = ["Session"]

_DEFAULT_POOL = "tasks"


@dataclass(slots=True, eq=False)
class Session:
    """One opening of a runtime. Its handles keep it, and find out here that it is over."""

    path: str
    environment: Environment
    catalogue: Catalogue
    commits: Commits
    pools: Pools
    supervision: Supervision
    loop: asyncio.AbstractEventLoop
    chance: Callable[[], float] | None
    """What a test injects; without it, seeds come from the system."""
    shepherd: Shepherd = field(init=False)
    scheduler: Scheduler = field(init=False)
    closed: str | None = None
    """Why it is over."""

    @property
    def store(self) -> Store:
        return self.environment.store

    @property
    def clock(self) -> Clock:
        return self.environment.clock

    def check(self) -> None:
        """Raise RuntimeClosed where the runtime cannot be used."""
        if self.closed is not None:
            raise RuntimeClosed(self.path, self.closed)
        if asyncio.get_running_loop() is not self.loop:
            raise RuntimeClosed(self.path, "it was entered on another event loop")

    def drain(self, grace: float, cleanup: float) -> None:
        """No new work; what runs has `grace` seconds from now."""
        self.scheduler.close()
        self.pools.drain(grace, cleanup)

    async def row(self, task_id: str) -> TaskRow:
        """What the store holds of a task. Raises TaskNotFound."""
        self.check()
        row = await self.store.task(task_id)
        if row is None:
            raise TaskNotFound(task_id)
        return row

    def pool_name(self, pool: object) -> str:
        """The pool that is meant: the one named, else the only one, or that called "tasks".

        Raises BadCall where the tree has none of the name, or leaves it open.
        """
        meant = _DEFAULT_POOL if pool is None else pool
        if isinstance(meant, str) and self.pools.get(meant) is not None:
            return meant
        names = self.supervision.pool_names()
        if pool is None and len(names) == 1:
            return names[0]
        if isinstance(meant, str) and meant in names:
            return meant
        instead = " or ".join(f"pool={name!r}" for name in names) or "Pool() into its tree"
        why = "is no pool of this runtime" if pool else "leaves open which pool is meant"
        raise BadCall("pool", pool, why, instead)

    def new_seed(self, task_id: str) -> bytes:
        """What the chance of a new task is derived from."""
        return new_seed(task_id, self.chance)

    def check_child(self, actor: type[Actor], pool: str, priority: int, lane: str | None) -> None:
        """What `start` checks of a task, for one that a task starts; its class is known then."""
        self.pool_name(pool)
        priority_of(priority)
        if lane is not None:
            check_name("lane", lane)
        self.catalogue.tell(actor)

    def running(self, key: int) -> TaskRow | None:
        """The row, as committed, of a task that runs here; None for any other: read that."""
        life = self.pools.life(key)
        committed = None if life is None else life.ledger.committed
        if life is None or committed is None:
            return None
        if committed.status not in (Status.RUNNING, Status.SUCCEEDED):
            return None  # it was ended here, and may have been let go on since
        return TaskRow(*life.ledger.row, committed)

    def steps_running(self, key: int) -> tuple[str, ...]:
        """Identities of the steps of a task that execute here just now."""
        life = self.pools.life(key)
        return () if life is None else life.steps_running

    def class_of(self, row: TaskRow) -> type[Actor]:
        """The class that a stored task needs. Raises UnknownActor."""
        found = self.catalogue.get(row.actor)
        if found is None:
            raise self.catalogue.ambiguous().get(row.actor) or UnknownActor(
                row.actor, "no class of this name exists here"
            )
        return found
