"""A pool at work: admits tasks from the store, runs them, and records how each life ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ..actors.actor import Actor
from ..actors.environment import Environment
from ..actors.ledger import Ledger
from ..actors.traffic import resolve
from ..storage.errors import StoreFailed
from ..storage.records import Loaded, Progress, Status
from .admission import Admission
from .catalogue import Catalogue
from .commons import Commons
from .decisions import Decision
from .life import Life
from .lives import Lives
from .pool_info import PoolInfo, PoolListener
from .pool_spec import Pool
from .seats import Seats

__all__ = ["LivePool"]

_LOG = logging.getLogger("everstep")
_NAMED = 20
"""Of those who are late at a stop so many are named in the log, the others counted."""


class LivePool:
    """Runs the tasks of one pool, one asyncio task for each; none for those that are queued.

    `on_failure` is told once why it cannot go on: the store has failed, a task was given up that
    it is to fail with, or it failed itself by a bug. The owner is to call `stop` then. `on_leaving`
    is told when a task ends the process: then all pools must `hand_in`. `on_event` hears when a
    storm begins and ends: the kind of event, the reason, and whether it is expected.
    """

    def __init__(
        self,
        spec: Pool,
        path: str,
        environment: Environment,
        catalogue: Catalogue,
        commons: Commons,
        *,
        on_failure: Callable[[Exception], None],
        on_leaving: Callable[[], None],
        on_event: PoolListener,
    ) -> None:
        self.spec = spec
        self.path = path
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when it has stopped."""
        self._tell_failure = on_failure
        self._failed = False
        self._lives = Lives(
            environment,
            path,
            self._present,
            Seats(self._present, self._rested),
            on_free=self._freed,
            on_failure=self.fail,
            on_leaving=on_leaving,
        )
        self._admission = Admission(
            self._present,
            environment,
            catalogue,
            self._lives,
            commons,
            on_failure=self.fail,
            on_event=on_event,
        )
        self._stopping = False

    def start(self) -> None:
        """Begin to recover and to admit. The store is open."""
        self._admission.start()

    # --- for those who start and steer tasks ------------------------------------------------

    def opens_to(self, lane: str | None) -> bool:
        """Whether a task that is created now may run at once: there is room, and no queue."""
        return not self._stopping and self._admission.opens_to(lane)

    def begin(self, ledger: Ledger, actor: type[Actor], loaded: Loaded) -> Life:
        """Run a task whose first commit, on `ledger`, creates it as claimed.

        Only when the pool `opens_to` its lane, and in the same turn of the loop.
        """
        return self._admission.begin(ledger, actor, loaded)

    def life(self, key: int) -> Life | None:
        """The life that holds this task here; None where it is not running in this pool."""
        return self._lives.get(key)

    async def end(self, life: Life, decide: Callable[[Progress], Decision]) -> bool:
        """Let an operator end a life at once; False when it had ended by itself."""
        return await self._lives.end(life, decide)

    def committed(self, ledger: Ledger) -> None:
        """Tell of every commit of a task; one that left it queued wakes the admission.

        Whoever queued it may have been cancelled while it waited for the commit.
        """
        life = self._lives.get(ledger.row.key)
        if life is not None and life.ledger is ledger:
            self._admission.committed(life)
        elif life is None and ledger.status is Status.QUEUED:
            self._admission.queued()

    @property
    def running(self) -> int:
        return self._lives.seats.taken

    @property
    def graveyard(self) -> frozenset[asyncio.Task[None]]:
        """Tasks that do not end although their life is over."""
        return frozenset(self._lives.graveyard)

    # --- for the operator -------------------------------------------------------------------

    def reconfigure(self, spec: Pool) -> None:
        """Go on by another policy, at once and without touching what runs.

        A lower limit ends nothing: nobody is let in until enough have ended. A higher one lets
        in at once. Attempts to restart that are scheduled stay as they are. A new `rate` and
        `storm` count from now on, a changed one goes on with what was counted. All of it holds
        until the pool is stopped.
        """
        self.spec = spec
        if not self._stopping:
            self._lives.seats.hand_out()
            self._admission.changed()

    def info(self) -> PoolInfo:
        """The pool at this moment, as data."""
        return self._admission.info()

    # --- the stop ---------------------------------------------------------------------------

    def drain(self) -> None:
        """Let nobody in any more; what runs goes on until `stop`."""
        self._stopping = self._lives.stopping = True
        self._admission.close()

    async def stop(self, grace: float, cleanup: float) -> tuple[str, ...]:
        """No new work; `grace` seconds to reach a checkpoint; then all is cut and given back.

        Returns who was late: tasks and steps. Bounded by `grace`, `cleanup` and the seconds that
        recording takes. May be called again, with less time, after it was cancelled.
        """
        self.drain()
        await self._admission.stop()
        late = await self._lives.stop(grace, cleanup)
        for name in late[:_NAMED]:
            _LOG.warning("late when the pool %s stopped: %s", self.spec.name, name)
        if len(late) > _NAMED:
            _LOG.warning(
                "late when the pool %s stopped: %d more", self.spec.name, len(late) - _NAMED
            )
        resolve(self.closed)
        return late

    def hand_in(self) -> None:
        """Give all tasks back in this very turn, since the loop is about to end."""
        self._lives.hand_in()

    # --- told from below ----------------------------------------------------------------------

    def exits(self, key: int, error: BaseException) -> None:
        """A task, where it is one of this pool, ends the process."""
        self._lives.exits(key, error)

    def _present(self) -> Pool:
        return self.spec

    def _freed(self, life: Life) -> None:
        if self._stopping:
            self._admission.tried(life)
        else:
            self._admission.freed(life)

    def _rested(self, lane: str | None) -> None:
        if not self._stopping:
            self._admission.rested(lane)

    def fail(self, error: Exception) -> None:
        """Tell the owner why this pool cannot go on. Once.

        While it stops anyway the owner is told only of the store's failure, the log of all else.
        """
        if self._failed:
            return
        self._failed = True
        if self._stopping and not isinstance(error, StoreFailed):
            _LOG.error("the pool %s failed while it stopped: %s", self.path, error)
        else:
            self._tell_failure(error)

    def __repr__(self) -> str:
        return f"<LivePool {self.spec.name}: {self.running} of {self.spec.max_running}>"
