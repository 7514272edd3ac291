"""All pools of one runtime: opened by their supervisors, and asked for the task that they hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable

from ..actors.environment import Environment
from ..actors.ledger import Ledger
from ..storage.errors import StoreClosed, StoreFailed
from ..storage.records import Progress
from .catalogue import Catalogue
from .commons import Commons
from .decisions import Decision
from .errors import PoolInUse
from .life import Life
from .pool import LivePool
from .pool_info import PoolListener
from .pool_spec import DEFAULT_RESTART, Pool
from .recovery import Recovery
from .restart import Restart
from .waiting import all_done

__all__ = ["Pools"]


class Pools:
    """Who runs which task. One for each opening of a runtime.

    - `known`: the pools of the tree as it was written; they may not run yet.
    - `names_of_tree` tells which pools the tree has now, running or not.
    - `on_store_failure` is told when a pool has found that the store has failed.
    """

    def __init__(
        self,
        environment: Environment,
        catalogue: Catalogue,
        known: Iterable[Pool],
        *,
        names_of_tree: Callable[[], Collection[str]],
        on_store_failure: Callable[[Exception], None],
    ) -> None:
        self._environment = environment
        self._catalogue = catalogue
        self._specs = {pool.name: pool for pool in known}
        self._on_store_failure = on_store_failure
        recovery = Recovery(environment, self._restart_of, self._gave_up)
        self._commons = Commons(environment, recovery, names_of_tree)
        self._running: dict[str, LivePool] = {}
        self._leaving: set[LivePool] = set()
        self._given_up: dict[str, Exception] = {}
        """Why a pool that did not run when a task of it was given up is to fail."""
        self.graveyard: list[object] = []
        """Tasks of closed pools that do not end although their life is over."""
        self._deadline: float | None = None
        self._cleanup = environment.cleanup
        environment.on_exit = self._exits

    # --- for their supervisors --------------------------------------------------------------

    def open(
        self,
        spec: Pool,
        path: str,
        *,
        on_failure: Callable[[Exception], None],
        on_event: PoolListener,
    ) -> LivePool:
        """A pool at work. `on_failure` is told once why it cannot go on; then it is to be closed.

        Raises PoolInUse where a pool of this name runs.
        """
        other = self._running.get(spec.name)
        if other is not None:
            raise PoolInUse(spec.name, other.path)

        def failed(error: Exception) -> None:
            if isinstance(error, (StoreFailed, StoreClosed)):
                self._on_store_failure(error)
            else:
                on_failure(error)

        pool = LivePool(
            spec,
            path,
            self._environment,
            self._catalogue,
            self._commons,
            on_failure=failed,
            on_leaving=self._hand_in,
            on_event=on_event,
        )
        self._specs[spec.name] = spec
        self._running[spec.name] = pool
        pool.start()
        given_up = self._given_up.pop(spec.name, None)
        if given_up is not None:
            asyncio.get_running_loop().call_soon(pool.fail, given_up)
        return pool

    async def close(self, pool: LivePool, *, hurried: bool = False) -> None:
        """Stop a pool and give its tasks back. Bounded; cancelled, it may be called again."""
        if self._running.get(pool.spec.name) is pool:
            del self._running[pool.spec.name]
            self._leaving.add(pool)
        grace, cleanup = (0.0, 0.1) if hurried else (self._grace(), self._cleanup)
        await pool.stop(grace, cleanup)
        self.graveyard += pool.graveyard
        self._leaving.discard(pool)

    def _grace(self) -> float:
        if self._deadline is None:
            return self._environment.grace
        return max(0.0, self._deadline - self._environment.clock.monotonic())

    # --- for the runtime ----------------------------------------------------------------------

    def get(self, name: str) -> LivePool | None:
        """The pool of this name, while it runs."""
        return self._running.get(name)

    def life(self, key: int) -> Life | None:
        """The life that holds this task here; None where it runs in no pool."""
        for pool in self._all():
            if (life := pool.life(key)) is not None:
                return life
        return None

    async def end(self, life: Life, decide: Callable[[Progress], Decision]) -> bool:
        """Let an operator end a life at once; False when it had ended by itself."""
        for pool in self._all():
            if pool.life(life.key) is life:
                return await pool.end(life, decide)
        return False

    def woken(self) -> None:
        """Tell that a message has queued a task that was out of memory, whatever its pool."""
        self._commons.ring()

    def committed(self, ledger: Ledger) -> None:
        """Tell of every commit of a task; one that left it queued wakes its pool.

        Whoever queued it may have been cancelled while it waited for the commit.
        """
        pool = self._running.get(ledger.row.pool)
        if pool is not None:
            pool.committed(ledger)

    def drain(self, grace: float, cleanup: float) -> None:
        """No new work in any pool; what runs has `grace` seconds from now, in all of them."""
        self._deadline = self._environment.clock.monotonic() + grace
        self._cleanup = cleanup
        for pool in self._all():
            pool.drain()

    async def closed(self, seconds: float) -> None:
        """Return when pools that nobody waits for any more are closed too, or after `seconds`."""
        await all_done(self._environment.clock, [pool.closed for pool in self._leaving], seconds)

    def __repr__(self) -> str:
        return ", ".join(map(repr, self._running.values())) or "no pool runs"

    def _all(self) -> list[LivePool]:
        return [*self._running.values(), *self._leaving]

    # --- told from below ------------------------------------------------------------------------

    def _exits(self, key: int, error: BaseException) -> None:
        for pool in self._all():
            pool.exits(key, error)

    def _hand_in(self) -> None:
        """A task ends the process, and with it those of all pools."""
        for pool in self._all():
            pool.hand_in()

    def _restart_of(self, pool: str) -> Restart:
        running = self._running.get(pool)
        spec = self._specs.get(pool) if running is None else running.spec
        return DEFAULT_RESTART if spec is None else spec.restart

    def _gave_up(self, pool: str, error: Exception) -> None:
        """Recovery has given up a task of a pool that is to fail with it."""
        running = self._running.get(pool)
        if running is None:
            self._given_up[pool] = error
        else:
            running.fail(error)
