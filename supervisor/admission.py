"""Lets tasks in from the store: suspects a few at a time, the others by whose turn it is."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ..actors.actor import Actor
from ..actors.environment import Environment
from ..actors.exits import Crashed
from ..actors.ledger import Ledger
from ..storage.clock import Due, Timer, left_of
from ..storage.records import Loaded, Progress, Status, TaskRow
from .applying import apply
from .catalogue import Catalogue
from .commons import Commons
from .decisions import at_claim
from .earliest import Earliest
from .lanes import Look, Place, Turns, allot, below, shares_of
from .life import Life
from .lives import Lives
from .pacing import Pacing
from .pool_info import PoolInfo, PoolListener
from .pool_spec import Pool
from .rounds import Rounds
from .strangers import Strangers
from .suspects import suspect_of
from .waking import Waking

__all__ = ["Admission"]

_AT_ONCE = 64
"""Claims, and so loads, that are asked of the store together."""
_QUEUES = 128
"""Queues that are compared in one look."""
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
    as two marks, set by whoever queues a task and cleared by a look that finds no more. `spec_of`
    tells the pool's present policy; `on_event` hears of storms: kind, reason, whether expected.
    """

    def __init__(
        self,
        spec_of: Callable[[], Pool],
        environment: Environment,
        catalogue: Catalogue,
        lives: Lives,
        commons: Commons,
        *,
        on_failure: Callable[[Exception], None],
        on_event: PoolListener,
    ) -> None:
        self._spec_of = spec_of
        self._environment = environment
        self._store = environment.store
        self._clock = environment.clock
        self._catalogue = catalogue
        self._lives = lives
        self._commons = commons
        self._waking = Waking(spec_of().name, environment)
        self._lineup = commons.lineup
        self._turns = Turns()
        self._rounds = Rounds(self._round, on_failure)
        self._pacing = Pacing(
            spec_of,
            environment.clock,
            commons.throttle(self._spec.name),
            on_pass=self._rounds.wake,
            on_event=on_event,
        )
        self._queued = True
        self._news = False
        self._suspects = True
        self._recover = True
        self._look_due = True
        self._ready = False
        self._due = Earliest(self._clock, self._fell_due)
        self._tick: Timer | None = None
        self._strangers = Strangers(self._store, catalogue)

    # --- asked and told by the pool -------------------------------------------------------

    def start(self) -> None:
        self._rounds.start(f"everstep pool {self._spec.name}")
        self._commons.listen(self.queued)
        self._tick = self._clock.call_later(_TICK, self._look_again)

    def close(self) -> None:
        """Let nobody in any more."""
        self._commons.leave(self.queued)
        self._pacing.stop()
        self._due.cancel()
        if self._tick is not None:
            self._tick.cancel()
        self._rounds.cancel()

    async def stop(self) -> None:
        """Let nobody in any more, and return when that holds. Cancelling changes nothing of it."""
        self.close()
        await self._rounds.ended()

    @property
    def _spec(self) -> Pool:
        return self._spec_of()

    @property
    def room(self) -> int:
        """How many tasks may be let in just now, whatever their lanes."""
        return self._pacing.allows(self._lives.seats.room)

    def opens_to(self, lane: str | None) -> bool:
        """Whether a task that is just being started may run at once, ahead of nobody."""
        waiting = self._queued or self._lineup.exclusive or not self._ready
        return not waiting and self._admits(lane) and self._store.trouble is None

    def _admits(self, lane: str | None) -> bool:
        free = below(self._spec.max_running_per_lane, self._lives.seats.lanes, lane)
        return free and self.room > 0

    def begin(self, ledger: Ledger, actor: type[Actor], loaded: Loaded | None = None) -> Life:
        """Give a slot to the task whose claim is on `ledger`."""
        self._turns.served(ledger.row.lane)
        self._pacing.let_in()
        return self._lives.begin(ledger, actor, loaded)

    def queued(self) -> None:
        """A task was queued that may be due now."""
        self._queued = self._news = self._suspects = True
        self._rounds.wake()

    def changed(self) -> None:
        """The policy is another one."""
        self._pacing.changed()
        self.queued()

    def tried(self, life: Life) -> None:
        """A life is over: if a suspect was tried, others may be let in."""
        if self._lineup.through(life.key):
            self._commons.ring()

    def freed(self, life: Life) -> None:
        """A slot is free; and a task that had it may be queued again."""
        self.tried(life)
        if isinstance(life.ended, Crashed):
            self._pacing.crashed()
        progress = life.ledger.progress
        if progress.status is Status.WAITING and progress.due_at is not None:
            self._due.arm(self._left(progress))
        if self._may_be_queued(progress):
            self.queued()
        self.rested(life.lane)

    def rested(self, lane: str | None) -> None:
        """A slot is free, and one of the lane."""
        if self._was_full(lane):
            self.queued()
        if self._queued or (self._suspects and not self._lineup.busy):
            self._rounds.wake()

    def _may_be_queued(self, progress: Progress) -> bool:
        """Whether a task whose life is over may be claimed now; one that falls due is awaited."""
        if progress.status is not Status.QUEUED:
            return progress.status is not Status.SUCCEEDED  # it may have been let go on meanwhile
        left = self._left(progress)
        if left > 0:
            self._due.arm(left)
        return left <= 0

    def _was_full(self, lane: str | None) -> bool:
        """Whether the slot that is free now was one that others of the lane may have waited for."""
        cap = self._spec.max_running_per_lane
        return (
            lane is not None and cap is not None and self._lives.seats.lanes.get(lane, 0) + 1 >= cap
        )

    def info(self) -> PoolInfo:
        """What the pool shows of itself."""
        left = [wait for wait in (self._due.left, self._pacing.left) if wait is not None]
        return PoolInfo(
            name=self._spec.name,
            running=self._lives.seats.taken,
            max_running=self._spec.max_running,
            lanes=dict(self._lives.seats.lanes),
            storm=self._pacing.storm,
            crashes=self._pacing.crashes,
            starts=self._pacing.starts,
            next_look=min(left, default=None),
            suspects=tuple(life.task_id for life in self._lives if self._lineup.tried(life.key)),
        )

    def committed(self, life: Life) -> None:
        """Tell the lineup of checkpoints that are durable."""
        if life.incarnation is None or not self._lineup.tried(life.key):
            return
        if life.ledger.status is Status.WAITING and self._lineup.through(life.key):
            self.queued()
        while life.checkpoints < life.incarnation.checkpoints:
            life.checkpoints += 1
            if self._lineup.checkpoint(life.key):
                self._commons.ring()

    # --- the task -------------------------------------------------------------------------

    async def _round(self) -> None:
        if self._store.trouble is not None:
            await self._store.ready()  # raises when the store has given up
        if self._recover:
            self._recover = False
            await self._commons.recover()
        self._pacing.settle()
        looked = self._moment()
        look_due, self._look_due = self._look_due, False  # what falls due from here on rings again
        if look_due:
            await self._waking.run()
        if self._suspects and not self._lineup.busy and self.room > 0:
            await self._admit_suspects()
        if self._queued:
            await self._admit_queued()
        if look_due:
            await self._arm_next_due(looked)
            await self._strangers.report(self._spec.name)
        self._pacing.arm(waiting=self._queued or self._suspects)
        self._ready = True

    async def _admit_suspects(self) -> None:
        self._suspects = False
        known = self._catalogue.known()
        limit = self._spec.restart.suspects_from
        rows = await self._store.suspects(
            self._spec.name, actors=known, suspects_from=limit, limit=_SUSPECTS
        )
        free = [row for row in rows if row.key not in self._lives]
        due = self._fitting([row for row in free if self._left(row.progress) <= 0])
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
        """Let in whose turn it is, until no slot is left or a look has found no more."""
        passed: set[int] = set()
        look, self._news = Look(), False
        while (room := min(self.room, _AT_ONCE)) > 0 and not self._lineup.exclusive:
            begun = await self._admit_some(look, room, passed)
            if look.over:
                self._queued = self._news
                return
            if begun and self._news:
                look, self._news = Look(), False  # there may be some of a higher priority

    async def _admit_some(self, look: Look, room: int, passed: set[int]) -> int:
        """One page of a look, and the claims of those on it that have a turn; how many.

        `passed` are those that were claimed in this round, whatever came of it.
        """
        page = await self._store.lanes(
            self._spec.name, below=look.below, turns=self._turns.windows, limit=_QUEUES, deep=room
        )
        self._turns.looked(page)
        places = allot(
            look.queues(page),
            room,
            running=self._lives.seats.lanes,
            cap=self._spec.max_running_per_lane,
            since=self._turns.since,
        )
        if not places:
            look.leave_behind(page)
            return 0
        known = self._catalogue.known()  # anew: a class may have been told of meanwhile
        fresh = await self._found(look, places, known, passed)
        begun: list[Life] = []
        now = self._clock.now()
        for row in fresh:
            if self._admits(row.lane) and not self._lineup.exclusive:
                passed.add(row.key)
                begun.append(self._claim(row, known, now))
        await self._claimed(begun)
        return len(begun)

    async def _found(
        self, look: Look, places: list[Place], known: dict[str, type[Actor]], passed: set[int]
    ) -> list[TaskRow]:
        """The tasks that can be claimed for these turns, in the order of the turns."""
        shares, moment = shares_of(places, look.skipped), self._moment()
        rows = await self._store.claimable(
            self._spec.name,
            shares,
            actors=known,
            now=moment.now,
            since_boot=moment.since_boot,
            suspects_from=self._spec.restart.suspects_from,
        )
        found: defaultdict[Place, list[TaskRow]] = defaultdict(list)
        fresh: defaultdict[Place, deque[TaskRow]] = defaultdict(deque)
        for row in rows:
            place = row.priority, row.lane
            found[place].append(row)
            if row.key not in self._lives and row.key not in passed:
                fresh[place].append(row)
        for share in shares:
            place = share.priority, share.lane
            look.yielded(share, len(found[place]), len(fresh[place]))
        return [fresh[place].popleft() for place in places if fresh[place]]

    def _fitting(self, rows: Sequence[TaskRow]) -> dict[int, TaskRow]:
        """Those of the tasks, by key, for which there is a slot in their lane."""
        lanes = Counter(self._lives.seats.lanes)
        fitting: dict[int, TaskRow] = {}
        for row in rows:
            if below(self._spec.max_running_per_lane, lanes, row.lane):
                lanes[row.lane] += 1
                fitting[row.key] = row
        return fitting

    def _claim(self, row: TaskRow, known: dict[str, type[Actor]], now: float) -> Life:
        ledger = Ledger(self._environment, row)
        apply(ledger, at_claim(row.progress, epoch=self._store.epoch, now=now))
        ledger.write()
        return self.begin(ledger, known[row.actor])

    async def _claimed(self, lives: list[Life]) -> None:
        """Wait until the store has answered to these claims, so that it shows them."""
        pending = [life.claimed for life in lives if life.claimed is not None]
        if pending:
            await asyncio.wait(pending)

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
            self._due.arm(left - (self._clock.monotonic() - looked.monotonic))
        asked = self._clock.monotonic()
        left = await self._waking.next_due()
        if left is not None:
            self._due.arm(left - (self._clock.monotonic() - asked))

    def _fell_due(self) -> None:
        self._look_due = True
        self.queued()

    def _look_again(self) -> None:
        self._tick = self._clock.call_later(_TICK, self._look_again)
        self._recover = self._look_due = True
        self.queued()
