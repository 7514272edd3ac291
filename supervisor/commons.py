"""What the pools of one runtime share, and what outlasts each: suspects, recovery, counts, bell."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection

from ..actors.environment import Environment
from ..storage.interface import Alarm
from .recovery import Recovery
from .strangers import waiting
from .suspects import Lineup
from .throttle import Throttle

__all__ = ["Commons"]

_LOG = logging.getLogger("everstep")


class Commons:
    """One for each opening of a store, since a death concerns all tasks of the process.

    - `lineup`: which suspects are tried, whatever pool they are in.
    - `names_of_tree` tells which pools the tree has now, running or not.
    """

    def __init__(
        self,
        environment: Environment,
        recovery: Recovery,
        names_of_tree: Callable[[], Collection[str]],
    ) -> None:
        self.lineup = Lineup()
        self._store = environment.store
        self._recovery = recovery
        self._names_of_tree = names_of_tree
        self._one_at_a_time = asyncio.Lock()
        self._bells: set[Callable[[], None]] = set()
        self._reported: set[str] = set()
        """Pools that the tree lacks, and of which that was said."""
        self._throttles: defaultdict[str, Throttle] = defaultdict(Throttle)
        self._store.on_alarm(self._alarm)

    async def recover(self) -> None:
        """Give back what dead processes owned, in all pools. Raises StoreFailed.

        Several pools may ask at once: whoever comes second finds it done. Cancelled, it leaves the
        rest to the next one.
        """
        async with self._one_at_a_time:
            await self._recovery.run()
            await self._report_unknown_pools()

    async def _report_unknown_pools(self) -> None:
        """Say once of each pool that the tree lacks that tasks wait for it."""
        queues = await self._store.queues()
        for pool in sorted(queues.keys() - self._names_of_tree() - self._reported):
            self._reported.add(pool)
            _LOG.warning(
                "%s for the pool %r, which the tree of this runtime lacks; "
                "add it: Runtime(…, tree=Supervisor(…, children=[…, Pool(%r)]))",
                waiting(queues[pool]), pool, pool,
            )  # fmt: skip

    def throttle(self, pool: str) -> Throttle:
        """What was counted for the limits of this pool, over all of its lives."""
        return self._throttles[pool]

    def listen(self, bell: Callable[[], None]) -> None:
        """Ring `bell` when tasks may be let in that had to wait for other pools or the store."""
        self._bells.add(bell)

    def leave(self, bell: Callable[[], None]) -> None:
        self._bells.discard(bell)

    def ring(self) -> None:
        """Tell every pool to look whom it may let in."""
        for bell in tuple(self._bells):
            bell()

    def _alarm(self, alarm: Alarm | None) -> None:
        if alarm is None:
            _LOG.warning("the store commits again; the tasks go on")
        else:
            _LOG.error("the tasks wait where they are, and nothing is charged: %s", alarm.what)
        self.ring()
