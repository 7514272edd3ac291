"""What all supervisors of one tree share: time, chance, listeners, and the sweeper."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from ...actors.backoff import Chance
from ...storage.clock import Clock
from .events import Hub, SupervisionEvent
from .exits import Exit
from .leftovers import Sweeper
from .messages import Tell
from .pool_member import PoolOpener
from .service import Service

__all__ = ["World"]


class World:
    """Lives as long as the tree."""

    def __init__(
        self, clock: Clock, chance: Chance, hub: Hub, pools: PoolOpener | None = None
    ) -> None:
        self.clock = clock
        self.pools = pools
        """Opens the pools of the tree; None where there is no store."""
        self.chance = chance
        self.hub = hub
        self.sweeper = Sweeper(self._found)
        self.lives = itertools.count(1)
        self.interrupt: Callable[[Exit], None] = _no_root
        """Stops the whole tree; set by whoever starts its root."""

    def tell(self, supervisor: str, told: Tell) -> None:
        """Make known what a supervisor tells."""
        self.hub.put(
            SupervisionEvent(
                kind=told.kind,
                at=self.clock.now(),
                supervisor=supervisor,
                child=told.child,
                incarnation=told.incarnation,
                reason=told.reason,
                error=told.error,
                delay=told.delay,
                expected=told.expected,
            )
        )

    def late(self, service: Service, place: str) -> None:
        """A child was cut off because it did not end in time."""
        reason = f"did not end in time and is never resumed again; it waits at {place}"
        told = Tell("child_late", service.id, service.number, reason, expected=False)
        self.tell(service.supervisor, told)

    def _found(self, owner: object, task: asyncio.Task[Any]) -> None:
        if isinstance(owner, Service):
            told = Tell("leftover_ended", owner.id, owner.number, task.get_name())
            self.tell(owner.supervisor, told)


def _no_root(ended: Exit) -> None:
    raise RuntimeError(f"this tree has no root that could stop it after {ended.reason}")
