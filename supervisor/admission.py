"""Lets tasks in from the store: suspects a few at a time, the others by priority and age."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..actors.actor import Actor
from ..actors.environment import Environment
from ..actors.errors import UnknownActor
from ..actors.ledger import Ledger
from ..storage.clock import Due, Timer, left_of
from ..storage.records import Progress, Status, TaskRow
from .applying import apply
from .catalogue import Catalogue
from .commons import Commons
from .decisions import at_claim
from .life import Life
from .lives import Lives
from .pool_spec import Pool
from .suspects import suspect_of

__all__ = ["Admission"]

_LOG = logging.getLogger("everstep")
_AT_ONCE = 64
"""Claims, and so loads, that are asked of the store together."""
_SUSPECTS = 10_000
_TICK = 30.0
"""Seconds after which everything is looked at again, whatever was told."""


class _Moment(NamedTuple):
    """An instant on all three clocks."""

    now: float
    since_boot: float | None
    monotonic: float


class Admission:
    """One asyncio task that fills the free slots of a pool, and sleeps until there is a reason.

    Queued tasks are rows: nothing in memory stands for one. What may be there to claim is known
    as two marks, set by whoever queues a task and cleared by a look that finds no more.
    """

    def __init__(
        self,
        spec: Pool,
        environment: Environment,
        catalogue: Catalogue,
        lives: Lives,
        commons: Commons,
        on_failure: Callable[[Exception], None],
    ) -> None:
        self._spec = spec
        self._environment = environment
        self._store = environment.store
        self._clock = environment.clock
        self._catalogue = catalogue
        self._lives = lives
        self._commons = commons
        self._on_failure = on_failure
        self._lineup = commons.lineup
        self._woken = asyncio.Event()
        self._queued = True
        self._suspects = True
        self._recover = True
        self._look_due = True
        self._ready = False
        self._timer: Timer | None = None
        self._timer_at = 0.0
        self._tick: Timer | None = None
        self._reported: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    # --- asked and told by the pool -------------------------------------------------------

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._manage(), name=f"everstep pool {self._spec.name}")
        self._commons.listen(self.queued)
        self._tick = self._clock.call_later(_TICK, self._look_again)

    def close(self) -> None:
        """Let nobody in any more."""
        self._commons.leave(self.queued)
        for timer in (self._timer, self._tick):
            if timer is not None:
                timer.cancel()
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        """Let nobody in any more, and return when that holds. Cancelling changes nothing of it."""
        self.close()
        if self._task is not None:
            await asyncio.wait([self._task])

    @property
    def room(self) -> int:
        return self._spec.max_running - len(self._lives)

    @property
    def open(self) -> bool:
        """Whether a task that is just being started may run at once, ahead of nobody."""
        waiting = self._queued or self._lineup.exclusive or not self._ready
        return not waiting and self.room > 0 and self._store.trouble is None

    def queued(self) -> None:
        """A task was queued that may be due now."""
        self._queued = self._suspects = True
        self._woken.set()

    def tried(self, life: Life) -> None:
        """A life is over: if a suspect was tried, others may be let in."""
        if self._lineup.through(life.key):
            self._commons.ring()

    def freed(self, life: Life) -> None:
        """A slot is free; and a task that had it may be queued again."""
        self.tried(life)
        progress = life.ledger.progress
        if progress.status is Status.QUEUED:
            left = self._left(progress)
            if left > 0:
                self._arm(left)
            else:
                self._queued = self._suspects = True
        elif progress.status is not Status.SUCCEEDED:
            self._queued = self._suspects = True  # it may have been let go on meanwhile
        if self._queued or (self._suspects and not self._lineup.busy):
            self._woken.set()

    def committed(self, life: Life) -> None:
        """Tell the lineup of checkpoints that are durable."""
        if life.incarnation is None or not self._lineup.tried(life.key):
            return
        while life.checkpoints < life.incarnation.checkpoints:
            life.checkpoints += 1
            if self._lineup.checkpoint(life.key):
                self._commons.ring()

    # --- the task -------------------------------------------------------------------------

    async def _manage(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self._round()
            except Exception as failure:  # noqa: BLE001  the supervisor's boundary: it is told
                self._on_failure(failure)
                return
            await self._woken.wait()

    async def _round(self) -> None:
        if self._store.trouble is not None:
            await self._store.ready()  # raises when the store has given up
        if self._recover:
            self._recover = False
            await self._commons.recover()
        looked = self._moment()
        if self._suspects and not self._lineup.busy:
            await self._admit_suspects()
        if self._queued:
            await self._admit_queued()
        if self._look_due:
            self._look_due = False
            await self._arm_next_due(looked)
            await self._report_strangers()
        self._ready = True

    async def _admit_suspects(self) -> None:
        self._suspects = False
        known = self._catalogue.known()
        limit = self._spec.restart.suspects_from
        rows = await self._store.suspects(
            self._spec.name, actors=known, suspects_from=limit, limit=_SUSPECTS
        )
        due = {
            row.key: row
            for row in rows
            if row.key not in self._lives and self._left(row.progress) <= 0
        }
        waiting = [suspect_of(row) for row in due.values()]
        now = self._clock.now()
        begun = [
            self._claim(due[key], known, now) for key in self._lineup.next_batch(waiting, self.room)
        ]
        for life in begun:
            life.trial = self._clock.call_later(
                self._spec.restart.reset_after, partial(self._outlived, life.key)
            )
        await self._claimed(begun)
        self._suspects = self._suspects or len(begun) < len(waiting)

    async def _admit_queued(self) -> None:
        passed: set[int] = set()
        held = 0
        while self._may_admit():
            self._queued = False
            known = self._catalogue.known()  # anew: a class may have been told of meanwhile
            asked = min(self.room, _AT_ONCE) + held
            rows = await self._claimable(known, asked)
            if not self._may_admit():
                self._queued = True
                return  # meanwhile another pool tries a suspect that is to be alone
            before, held = held, sum(row.key in self._lives for row in rows)
            now = self._clock.now()
            fresh = [row for row in rows if row.key not in self._lives and row.key not in passed]
            passed.update(row.key for row in fresh)
            await self._claimed([self._claim(row, known, now) for row in fresh[: self.room]])
            if len(rows) < asked and not self._queued:
                return
            self._queued = True
            if not fresh and held <= before:
                return

    def _may_admit(self) -> bool:
        return self.room > 0 and not self._lineup.exclusive

    async def _claimable(self, known: dict[str, type[Actor]], limit: int) -> list[TaskRow]:
        moment = self._moment()
        return await self._store.claimable(
            self._spec.name,
            actors=known,
            now=moment.now,
            since_boot=moment.since_boot,
            suspects_from=self._spec.restart.suspects_from,
            limit=limit,
        )

    def _claim(self, row: TaskRow, known: dict[str, type[Actor]], now: float) -> Life:
        ledger = Ledger(self._environment, row)
        apply(ledger, at_claim(row.progress, epoch=self._store.epoch, now=now))
        ledger.write()
        return self._lives.begin(ledger, known[row.actor])

    async def _claimed(self, lives: list[Life]) -> None:
        """Wait until the store has answered to these claims, so that it shows them."""
        if lives:
            await asyncio.wait([life.claimed for life in lives])

    def _left(self, progress: Progress) -> float:
        """Seconds before which a queued task is not to be claimed."""
        at, boot, delay = progress.due_at, progress.due_boot, progress.due_delay
        return 0 if at is None or delay is None else left_of(self._clock, Due(at, boot, delay))

    def _outlived(self, key: int) -> None:
        if self._lineup.through(key):
            self._commons.ring()

    # --- time and trouble -------------------------------------------------------------------

    def _moment(self) -> _Moment:
        boot, since = self._clock.boot()
        return _Moment(self._clock.now(), since if boot else None, self._clock.monotonic())

    async def _arm_next_due(self, looked: _Moment) -> None:
        """Wake up when the next task falls due that had not when we `looked`."""
        left = await self._store.next_due(
            self._spec.name, now=looked.now, since_boot=looked.since_boot
        )
        if left is not None:
            self._arm(left - (self._clock.monotonic() - looked.monotonic))

    def _arm(self, delay: float) -> None:
        """Wake up after `delay` seconds, or earlier where that is armed already."""
        at = self._clock.monotonic() + delay
        if self._timer is not None:
            if self._timer_at <= at:
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._clock.call_later(delay, self._fell_due)

    def _fell_due(self) -> None:
        self._timer = None
        self._look_due = True
        self.queued()

    def _look_again(self) -> None:
        self._tick = self._clock.call_later(_TICK, self._look_again)
        self._recover = self._look_due = True
        self.queued()

    async def _report_strangers(self) -> None:
        """Say once of each name of an actor that means no class here, or two, that tasks wait."""
        known = self._catalogue.known()
        doubtful = self._catalogue.ambiguous()
        for name, count in (await self._store.strangers(self._spec.name, actors=known)).items():
            if name in self._reported:
                continue
            self._reported.add(name)
            error = doubtful.get(name) or UnknownActor(
                name, f'no class here has this name (import it, or: class …(Actor, name="{name}"))'
            )
            _LOG.warning("%d tasks wait in the pool %s: %s", count, self._spec.name, error)
