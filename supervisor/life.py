"""A task that a pool holds: from its claim to the record of how its life ended."""

from __future__ import annotations

import asyncio

from ..actors.actor import Actor
from ..actors.exits import Exit
from ..actors.incarnation import Incarnation
from ..actors.ledger import Ledger
from ..actors.traffic import resolve
from ..storage.clock import Timer
from ..storage.records import Loaded, Status
from .seats import LifeSeat

__all__ = ["Life"]


class Life:
    """One slot of a pool, and who holds it."""

    __slots__ = ("_loaded", "_over", "actor", "checkpoints", "claimed", "ended", "exit",
                 "incarnation", "is_over", "ledger", "seat", "task", "trial")  # fmt: skip

    def __init__(
        self, ledger: Ledger, actor: type[Actor], seat: LifeSeat, loaded: Loaded | None
    ) -> None:
        self._loaded = loaded
        self._over: asyncio.Future[None] | None = None
        self.ledger = ledger
        self.actor = actor
        self.seat = seat
        self.incarnation: Incarnation | None = None
        """None until the claim is committed."""
        self.task: asyncio.Task[None] | None = None
        self.claimed: asyncio.Future[None] | None = asyncio.get_running_loop().create_future()
        """Done when the store has answered to the claim, and then no longer there."""
        self.ended: Exit | None = None
        """How it ended; set by whoever records it."""
        self.exit: BaseException | None = None
        """By what a step in an asyncio task of its own has ended the process."""
        self.is_over = False
        """Its end is recorded, and its slot is free."""
        self.checkpoints = 0
        """How many of its checkpoints the lineup was told of."""
        self.trial: Timer | None = None

    def was_claimed(self) -> None:
        """The store has answered to the claim."""
        if self.claimed is not None:
            resolve(self.claimed)
            self.claimed = None

    def take_loaded(self) -> Loaded | None:
        """What the store holds of the task, where that is known; not kept after that."""
        loaded, self._loaded = self._loaded, None
        return loaded

    @property
    def over(self) -> asyncio.Future[None]:
        """Done when it `is_over`."""
        if self._over is None:
            self._over = asyncio.get_running_loop().create_future()
            if self.is_over:
                resolve(self._over)
        return self._over

    def end(self) -> None:
        """Say that it is over."""
        self.is_over = True
        if self._over is not None:
            resolve(self._over)

    @property
    def key(self) -> int:
        return self.ledger.row.key

    @property
    def task_id(self) -> str:
        return self.ledger.row.id

    @property
    def lane(self) -> str | None:
        return self.ledger.row.lane

    @property
    def goes_on(self) -> bool:
        """Whether the task is still held here, running or in its waits."""
        progress = self.ledger.progress
        waits = progress.status is Status.WAITING and progress.epoch is not None
        return progress.status is Status.RUNNING or waits

    @property
    def is_draining(self) -> bool:
        """Whether it has begun to end in order, and only lets what runs come to its end."""
        return self.incarnation is not None and self.incarnation.draining

    @property
    def steps_running(self) -> tuple[str, ...]:
        return () if self.incarnation is None else self.incarnation.steps_running

    def __repr__(self) -> str:
        state = self.ended or (self.steps_running or "claimed")
        return f"<Life of {self.task_id}: {state}>"
