"""A task that a pool holds: from its claim to the record of how its life ended."""

from __future__ import annotations

import asyncio

from ..actors.actor import Actor
from ..actors.exits import Exit
from ..actors.incarnation import Incarnation
from ..actors.ledger import Ledger
from ..storage.clock import Timer
from ..storage.records import Status
from .seats import LifeSeat

__all__ = ["Life"]


class Life:
    """One slot of a pool, and who holds it."""

    __slots__ = ("actor", "checkpoints", "claimed", "ended", "incarnation", "ledger", "over",
                 "seat", "task", "trial")  # fmt: skip

    def __init__(self, ledger: Ledger, actor: type[Actor], seat: LifeSeat) -> None:
        loop = asyncio.get_running_loop()
        self.ledger = ledger
        self.actor = actor
        self.seat = seat
        self.incarnation: Incarnation | None = None
        """None until the claim is committed."""
        self.task: asyncio.Task[None] | None = None
        self.claimed: asyncio.Future[None] = loop.create_future()
        """Done when the store has answered to the claim."""
        self.ended: Exit | None = None
        """How it ended; set by whoever records it."""
        self.over: asyncio.Future[None] = loop.create_future()
        """Done when its end is recorded and its slot is free."""
        self.checkpoints = 0
        """How many of its checkpoints the lineup was told of."""
        self.trial: Timer | None = None

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
    def steps_running(self) -> tuple[str, ...]:
        return () if self.incarnation is None else self.incarnation.steps_running

    def __repr__(self) -> str:
        state = self.ended or (self.steps_running or "claimed")
        return f"<Life of {self.task_id}: {state}>"
