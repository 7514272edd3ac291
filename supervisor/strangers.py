"""Says of which actors tasks are queued that mean no class here, or two."""

from __future__ import annotations

import logging

from ..actors.errors import UnknownActor
from ..storage.interface import Store
from .catalogue import Catalogue

__all__ = ["Strangers", "waiting"]

_LOG = logging.getLogger("everstep")


def waiting(count: int) -> str:
    """That so many tasks wait, in words."""
    return "1 task waits" if count == 1 else f"{count} tasks wait"


class Strangers:
    """Warns once of each name, since its tasks wait until the class appears."""

    def __init__(self, store: Store, catalogue: Catalogue) -> None:
        self._store = store
        self._catalogue = catalogue
        self._reported: set[str] = set()

    async def report(self, pool: str) -> None:
        """Look at the queued tasks of a pool, and warn of names not warned of yet."""
        known = self._catalogue.known()
        doubtful = self._catalogue.ambiguous()
        for name, count in (await self._store.strangers(pool, actors=known)).items():
            if name in self._reported:
                continue
            self._reported.add(name)
            error = doubtful.get(name) or UnknownActor(
                name, f'no class here has this name (import it, or: class …(Actor, name="{name}"))'
            )
            _LOG.warning("%s in the pool %s: %s", waiting(count), pool, error)
