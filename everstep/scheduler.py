"""Fires the schedules of a runtime: one asyncio task, one timer, one row that is due next."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple
from weakref import WeakValueDictionary

from .actors.ledger import Ledger
from .actors.newborn import first_commit
from .operations import cancel
from .session import Session
from .storage.clock import Timer, shown_seconds
from .storage.errors import EverstepError, Refused, Superseded
from .storage.interface import Refusal
from .storage.records import ENDED, NewTask, SnapshotRow
from .storage.schedules import ScheduleChange, ScheduleRow
from .submitting import submitted
from .supervisor.firings import Firing, fire, instant_id, instants_of, keys_of, started
from .supervisor.rounds import Rounds
from .supervisor.timetable import timetable

__all__ = ["Scheduler", "change", "planned"]

_LOG = logging.getLogger("everstep")
_LOOK = 30.0
"""Seconds after which the clocks are looked at again, which may have jumped."""
_AT_ONCE = 64
"""Firings that are on their way to the store together."""


class _Written(NamedTuple):
    """What a look at one schedule has handed to the store."""

    firing: Firing
    durable: asyncio.Future[Refusal | None] | Ledger


class Scheduler:
    """Starts the tasks of schedules when they are due, while the session is open.

    Each firing is one commit: the task's row, and how far its schedule has come. Nothing in memory
    stands for a schedule. `on_failure` is told once why it cannot go on: the store has failed, or
    it has, by a bug.
    """

    def __init__(self, session: Session, on_failure: Callable[[Exception], None]) -> None:
        self._session = session
        self._rounds = Rounds(self._round, on_failure)
        self._timer: Timer | None = None
        self._next_at: float | None = None
        self._awaited: set[int] = set()
        """Keys of the tasks for whose end an instant waits."""
        self._replacing: dict[str, asyncio.Event] = {}
        """Schedules whose tasks are just being cancelled for another: set when that is started."""
        self._turns = WeakValueDictionary[str, asyncio.Lock]()
        """Of schedules that are being changed."""
        self._told: set[str] = set()
        """Schedules of which was said that their instants are not known here."""

    # --- told -----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to fire. The store is open."""
        self._rounds.start("everstep schedules")

    def close(self) -> None:
        """Fire no more: what is with the store already is written whole."""
        self._disarm()
        self._rounds.cancel()

    async def closed(self) -> None:
        """Return when it fires no more. Cancelling changes nothing of it."""
        self.close()
        await self._rounds.ended()

    def changed(self) -> None:
        """A schedule is another one than before."""
        self._rounds.wake()

    def committed(self, ledger: Ledger) -> None:
        """Tell of every commit of a task: an instant may wait for its end."""
        if ledger.row.key in self._awaited and ledger.status in ENDED:
            self._rounds.wake()

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncGenerator[None]:
        """Change a schedule one after the other: of many at once each try would suit only one."""
        lock = self._turns.get(name)
        if lock is None:
            lock = self._turns[name] = asyncio.Lock()
        async with lock:
            yield

    async def row(self, name: str) -> ScheduleRow | None:
        """The row of a schedule to be changed, as it stands while none of its tasks is replaced.

        Raises RuntimeClosed, as who leaves may have given up what was to follow a cancelled task.
        """
        while True:
            self._session.check()
            row = await self._session.store.schedule(name)
            replaced = self._replacing.get(name)
            if replaced is None:
                self._session.check()
                return row
            await replaced.wait()

    # --- the task -------------------------------------------------------------------------

    async def _round(self) -> None:
        """Fire all that is due, and see to it that the next one wakes us."""
        self._disarm()
        store, clock = self._session.store, self._session.clock
        if store.trouble is not None:
            await store.ready()  # raises when the store has given up
        self._awaited.clear()
        looked = clock.now()
        names = await store.due_schedules(now=looked)
        settled = True
        for first in range(0, len(names), _AT_ONCE):
            settled &= await self._fire(names[first : first + _AT_ONCE], looked)
        self._next_at = await store.next_schedule(after=looked)
        if not settled:
            self._next_at = min(looked + _LOOK, self._next_at or looked + _LOOK)
        self._arm()

    async def _fire(self, names: list[str], now: float) -> bool:
        """Fire these together; False where one is to be looked at again."""
        written = [await self._begun(name, now) for name in names]
        settled = True
        for one in written:
            if isinstance(one, _Written):
                settled &= await self._settled(one)
            else:
                settled &= one
        return settled

    async def _begun(self, name: str, now: float) -> _Written | bool:
        """Look at one schedule, and hand to the store what follows, if anything does.

        False where its instants are not known here; True where there is nothing to do.
        """
        session = self._session
        row = await session.store.schedule(name)
        if row is None or row.paused:
            return True
        try:
            table = timetable(row.cron, row.every, row.tz, row.anchor)
        except EverstepError as error:
            self._tell(name, error)
            return False
        keys = keys_of(row)
        if row.overlap == "queue":
            self._awaited.update(keys)
        unended = await session.store.unended(keys)
        firing = fire(row, table, now, unended)
        if firing is None:
            return True
        try:
            written = await self._written(row, firing, list(unended.values()))
        except Superseded:
            self._rounds.wake()
            return True
        except Refused as refused:
            _LOG.warning("the schedule %s could not replace its task yet: %s", name, refused)
            return False
        _log(row, firing)
        return written

    async def _written(self, row: ScheduleRow, firing: Firing, unended: list[str]) -> _Written:
        session = self._session
        instant = firing.instant
        if instant is None:
            return _Written(firing, change(session, row, firing.row))
        task_id = instant_id(row.name, instant)
        if await session.store.task(task_id) is not None:
            _LOG.warning("the schedule %s is due, and its task %s exists", row.name, task_id)
            after = firing.row._replace(fired_at=instant, fired_task=task_id)
            return _Written(firing, change(session, row, after))
        if firing.replaces:
            return await self._replaced(row, firing, unended, task_id)
        ledger = planned(session, row, firing.row, task_id, instant)
        if firing.row.waiting is not None:
            self._awaited.add(ledger.row.key)
        return _Written(firing, ledger)

    async def _replaced(
        self, row: ScheduleRow, firing: Firing, unended: list[str], task_id: str
    ) -> _Written:
        """Cancel the tasks before, and start the one they make way for, whoever asks for a change.

        Raises Superseded, with nothing cancelled, where a change is with the store already. One
        that comes later waits for `row`.
        """
        session, name = self._session, row.name
        started = self._replacing[name] = asyncio.Event()
        try:
            held = await _held(session, row)
            for before in unended:
                await cancel(session, before, f"schedule {name}", f"replaced by {task_id}")
            return _Written(firing, planned(session, held, firing.row, task_id, firing.instant))
        finally:
            del self._replacing[name]
            started.set()

    async def _settled(self, written: _Written) -> bool:
        """Wait for the store's answer; False where it was refused, and is to be tried later."""
        refusal = await _refusal(written.durable)
        if isinstance(refusal, Superseded):  # by one who does not always tell, as `trigger`
            self._rounds.wake()
            return True
        if refusal is not None:
            _LOG.debug("a schedule could not be fired yet: %s", refusal)
        return refusal is None

    def _tell(self, name: str, error: EverstepError) -> None:
        if name not in self._told:
            self._told.add(name)
            _LOG.error("the schedule %s does not fire: %s", name, error)

    # --- time -----------------------------------------------------------------------------

    def _arm(self) -> None:
        """Wake up when the next one is due; until then look at the clock now and then."""
        if self._next_at is not None:
            left = min(max(self._next_at - self._session.clock.now(), 0.0), _LOOK)
            self._timer = self._session.clock.call_later(left, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._next_at is not None and self._session.clock.now() < self._next_at:
            self._arm()
        else:
            self._rounds.wake()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


async def _refusal(durable: asyncio.Future[Refusal | None] | Ledger) -> Refused | None:
    """Why the store refused a firing, if it did. Raises where it can write nothing any more."""
    try:
        if isinstance(durable, Ledger):
            await durable.durable()
            return None
        refusal = await durable
    except Refused as refused:
        return refused
    if refusal is not None and not isinstance(refusal, Refused):
        raise refusal
    return refusal


def planned(
    session: Session, before: ScheduleRow, after: ScheduleRow, task_id: str, instant: float | None
) -> Ledger:
    """Hand to the store the commit by which a schedule starts a task: at an instant, or by hand.

    The ledger is that of the task, which is queued.
    """
    now = session.clock.now()
    new = NewTask(
        key=session.store.new_key(),
        id=task_id,
        actor=after.actor,
        pool=after.pool,
        priority=after.priority,
        lane=after.lane,
        given=after.given,
        seed=session.new_seed(task_id),
        created_at=now,
    )
    first = SnapshotRow(new.key, 0, 1, after.version, after.state, after.appends)
    ledger = first_commit(session.environment, new, first, schedule=after.name)
    after = started(after, new.key, task_id, instant)
    ledger.schedule(_change(session, before, after))
    ledger.write()
    return ledger


def change(
    session: Session, before: ScheduleRow | None, after: ScheduleRow | None
) -> asyncio.Future[Refusal | None]:
    """Hand a change of a schedule to the store; a future of why it was refused, if it was."""
    return submitted(session, _change(session, before, after), session.scheduler.changed)


async def _held(session: Session, row: ScheduleRow) -> ScheduleRow:
    """The row under a new revision, and otherwise as it was. Raises Superseded, and others."""
    same = _change(session, row, row)
    refusal = await submitted(session, same, lambda: None)
    if refusal is not None:
        raise refusal
    assert same.after is not None  # as it was given
    return same.after


def _change(
    session: Session, before: ScheduleRow | None, after: ScheduleRow | None
) -> ScheduleChange:
    if after is not None:
        after = after._replace(revision=session.store.new_key())
    named = after or before
    assert named is not None  # something is changed
    size = 0 if after is None else len(after.state) + len(after.appends or b"")
    return ScheduleChange(named.name, None if before is None else before.revision, after, size)


def _log(before: ScheduleRow, firing: Firing) -> None:
    """Say which instants pass without a task."""
    after = firing.row
    if firing.too_old:
        _LOG.warning(
            "the schedule %s has missed %s older than catch_up=%s, for which nothing is started; "
            "to start such too, write a longer catch_up",
            before.name, _instants(firing.too_old), shown_seconds(before.catch_up),
        )  # fmt: skip
    if firing.passed_over:
        _LOG.warning(
            "the schedule %s has missed %s: overlap=%r starts the newest of several only; "
            'to start all, write overlap="queue"',
            before.name, _instants(firing.passed_over), before.overlap,
        )  # fmt: skip
    if after.skipped > before.skipped:
        _LOG.info(
            "the schedule %s has skipped %s: a task before has not ended%s",
            before.name, _instants(after.skipped - before.skipped),
            f", and {_instants(len(instants_of(after)))} wait" if after.waiting else "",
        )  # fmt: skip


def _instants(count: int) -> str:
    return f"{count} instant{'' if count == 1 else 's'}"
