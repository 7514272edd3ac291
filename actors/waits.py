"""The durable waits of one life, and how it leaves memory when nothing else of it is under way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..storage.clock import Due, Timer, left_of
from ..storage.errors import EverstepError, StoreFailed
from ..storage.records import Outcome, Status, StepRow
from . import rows
from .errors import Suspended
from .exits import Left
from .idling import Idling
from .mailbox import Mailbox
from .messages import shown_id
from .reminders import next_reminder, remind
from .standstill import STILL, UNSEEN, Look, unheard
from .traffic import resolve
from .wait import Answer, Wait

if TYPE_CHECKING:
    from .incarnation import Incarnation
    from .scope import Scope
    from .seat import Seat

__all__ = ["Waits"]

T = TypeVar("T")

_MOST_REFUSALS = 1000
"""How often code that left memory may call again before such a call never returns."""
_CALM = 1.0
"""Seconds after a step has ended until the slot is left, where all that goes on backs off."""
_LOOK = 30.0
"""Seconds after which a wait in memory looks at the clocks again, which may have jumped."""


class Waits:
    """Who stands in which wait; whether the life *rests*, as nothing else of it is under way.

    A life that rests is `waiting` in the store and holds no slot. Nothing here awaits but `until`.
    """

    __slots__ = ("_calm", "_has_rested", "_idle", "_life", "_overdue", "_refusals", "_seat",
                 "_seen", "_standing", "mailbox", "moves", "resting", "serves")  # fmt: skip

    def __init__(self, life: Incarnation, seat: Seat | None) -> None:
        self._life = life
        self._seat = seat
        self.mailbox = Mailbox(life.environment, life.ledger)
        self._standing: dict[Wait, None] = {}
        self._idle: Idling | None = None
        self._calm: Timer | None = None
        self._overdue = False
        self._seen = UNSEEN
        self._refusals = 0
        self._has_rested = False  # it has left its slot before, and may lack it now
        self.moves = 0
        """How often something of the life began, ended or called us."""
        self.resting = False
        self.serves = False
        """Its code is the loop of a server, which stands still where all messages are answered."""

    # --- the slot in a long backoff ---------------------------------------------------------

    @property
    def is_seated(self) -> bool:
        """Whether the life has its slot, where there are slots."""
        return not self._has_rested or self._seat is None or self._seat.held

    async def seated(self) -> None:
        """Return when the life has its slot again."""
        if self._seat is not None:
            await self._seat.again()

    def backs_off(self) -> None:
        """A step backs off: where nothing else runs for `idle_after` seconds, no slot is needed."""
        self._calm = None
        only = self._life.journal.traffic.only_waits()
        if only is None or self._seat is None or self.resting:
            return
        if not self._life.goes_on:
            return
        if left_of(self._life.clock, only) > self._life.environment.idle_after:
            self._has_rested = True
            self._seat.rests()

    def backs_off_no_more(self, only: Due | None) -> None:
        """A step has ended, perhaps in its backoff: code of the task runs, with a slot or not.

        Where `only` others back off, its slot is left a little later: a step may follow at once.
        """
        if self._seat is None or self.resting:
            return
        if only is None:
            if not self.is_seated:
                self._seat.wakes()
        elif self._calm is None:
            self._calm = self._life.clock.call_later(_CALM, self.backs_off)

    # --- one wait ---------------------------------------------------------------------------

    async def until(self, wait: Wait, ready: Callable[[], Awaitable[Answer | None]]) -> StepRow:
        """Stand in the wait until `ready()` answers; record the answer, whose row is returned.

        `ready` is asked at once, when the wait falls due, and when it is woken. A caller that
        cancels it leaves nothing of the wait; the end of the life leaves it as it is.
        Raises Suspended when the task leaves memory meanwhile.
        """
        answer = await self.stand(wait, ready)
        assert wait.row is not None  # only a server stands in a wait that has none
        row = self._life.wholly(self._record, wait.row, answer)
        if row.outcome is Outcome.FAILED:
            await self._lost(wait, row)
        return row

    async def _lost(self, wait: Wait, row: StepRow) -> None:
        """Return when a failure is committed, as a crash by it is to forget it."""
        wait.scope.has_unheard(row.identity)
        try:
            await self._life.ledger.durable()
        except asyncio.CancelledError:
            self._life.take_back(wait.scope, row, "wait_cancelled")
            raise

    async def stand(self, wait: Wait, ready: Callable[[], Awaitable[T | None]]) -> T:
        """The same, without a record of the answer, which is returned."""
        life = self._life
        try:
            while (answer := await ready()) is None:
                await self._stand(wait)
                life.check_fenced()
                wait.scope.check_open()
            life.check_fenced()
            self._go_on()
        except asyncio.CancelledError:
            self._cancelled(wait)
            raise
        except StoreFailed as failed:
            raise life.lose_store(wait.scope, failed) from failed
        finally:
            self._standing.pop(wait, None)
        self.stir()  # what waited may have nothing more to do, and others still wait
        return answer

    async def _stand(self, wait: Wait) -> None:
        life = self._life
        life.check_fenced()
        wait.woken = woken = asyncio.get_running_loop().create_future()
        wait.task = asyncio.current_task()
        self._standing[wait] = None
        timer = None
        if wait.dues:
            left = min(_LOOK, *(left_of(life.clock, due) for due in wait.dues))
            timer = life.clock.call_later(left, partial(resolve, woken))
        self.stir()
        try:
            await woken
        finally:
            if timer is not None:
                timer.cancel()

    def _go_on(self) -> None:
        """A wait is over: take the slot again, or leave memory as a task that waits for one."""
        self.moves += 1
        if not self.resting:
            return
        if self._seat is None or self._seat.wakes():
            self._runs()
        else:
            self._leave(Status.QUEUED)
            raise Suspended(self._life.task_id)

    def _record(self, row: StepRow, answer: Answer) -> StepRow:
        ledger, now = self._life.ledger, self._life.clock.now()
        row, seq = rows.not_due(row), ledger.next_seq()
        if answer.error is None:
            row = rows.recorded(row, seq, answer.output, now)
        else:
            row = rows.lost(row, seq, answer.error, now)
        ledger.step(row, len(answer.error or answer.output))
        data: dict[str, Any] | None = None
        if answer.taken is not None:
            ledger.take(answer.taken)
            self.mailbox.taken()
            data = {"message": shown_id(answer.taken.id), "from": answer.taken.sender}
        ledger.event("wait_ended", step=row.identity, data=data)
        ledger.write()
        return row

    def reminds(self, wait: Wait) -> None:
        """Give the reminder of a question, if one is due: one commit with when the next one is."""
        life, due = self._life, wait.reminder
        if due is None or wait.row is None or left_of(life.clock, due) > 0 or not life.goes_on:
            return
        wait.row = remind(life.ledger, wait.row)
        wait.reminder = next_reminder(wait.row, life.clock)
        if self.resting:
            life.ledger.due(self._earliest())
        life.ledger.write()

    def _cancelled(self, wait: Wait) -> None:
        """The caller has given it up: a replay that comes here begins it anew."""
        life = self._life
        self._standing.pop(wait, None)
        self.wake()
        self.stir()
        if wait.row is None:
            return
        if life.goes_on and not wait.scope.ended and life.ledger.refusal is None:
            life.ledger.step(rows.let_go(rows.not_due(wait.row), life.clock.now()))
            life.ledger.event("wait_cancelled", step=wait.row.identity)
            life.ledger.write()

    def open(self) -> None:
        """A chapter of the life begins: from now on its mailbox wakes those who listen."""
        self.mailbox.open(self._poked)

    def _poked(self) -> None:
        """A message has come."""
        for wait in self._standing:
            if wait.listens:
                wait.wake()

    # --- resting ----------------------------------------------------------------------------

    def stir(self) -> None:
        """Something of the task has ended or begun to wait: have it looked at."""
        self.moves += 1
        if self._standing and (self._overdue or not self.resting) and self._life.goes_on:
            self._ask()

    def _ask(self) -> None:
        """Have it looked at, or see at once that it stands still."""
        if not self.serves:
            self._life.environment.lookout.ask(self)
        elif self._standing and self.mailbox.is_empty:
            self.looked(STILL)

    def answered(self) -> None:
        """A server has answered: where no other message has come, it rests with that commit."""
        self.mailbox.taken()
        if self.mailbox.is_empty and not self.resting and self._life.goes_on:
            self._rest()

    @property
    def root(self) -> Scope:
        """The scope of `run`."""
        return self._life.root

    @property
    def standing(self) -> Collection[asyncio.Task[Any]]:
        """The asyncio tasks that stand in a wait."""
        return {
            wait.task
            for wait in self._standing
            if wait.task is not None and wait.woken is not None and not wait.woken.done()
        }

    @property
    def may_rest(self) -> bool:
        """Whether, as far as is known here, nothing but waits is under way."""
        life = self._life
        idle = life.journal.traffic.is_idle and not life.root.running_calls
        return idle and life.goes_on and bool(self._standing)

    def looked(self, look: Look) -> None:
        """The lookout has seen whether all of the task stands still."""
        life = self._life
        if not life.goes_on or not self._standing:
            life.environment.lookout.forget(self)
            return
        self._seen = look
        if not look.still:
            self.wake()
        elif self._overdue or (not self.resting and self._is_long()):
            self._leave(Status.WAITING)
        elif not self.resting:
            self._rest()
        if not life.suspended:
            with contextlib.suppress(EverstepError):  # whoever awaits the ledger is told
                life.ledger.write()

    def _rest(self) -> None:
        life = self._life
        self.resting = True
        life.ledger.change(status=Status.WAITING)
        life.ledger.due(self._earliest())
        if life.ledger.shown is not Status.WAITING:
            life.ledger.event("task_waiting")
        if self._seat is not None:
            self._has_rested = True
            self._seat.rests()
        if self._idle is None:
            self._idle = Idling(life.clock, life.environment.idle_after, self._has_idled)
        self._idle.begins()

    def _has_idled(self) -> None:
        self._overdue = True
        self._ask()

    def wake(self) -> None:
        """Code of the task runs again: it rests no longer. Without a free slot its steps wait."""
        self.moves += 1
        if self.resting and self._life.goes_on:
            if self._seat is not None:
                self._seat.wakes()
            self._runs()

    def _runs(self) -> None:
        self._disarm()
        self.resting = self._overdue = False
        self._life.ledger.change(status=Status.RUNNING)
        self._life.ledger.due(None)

    def _is_long(self) -> bool:
        """Whether it is known already that no wait ends within `idle_after`."""
        return all(wait.lasts(self._life.environment.idle_after) for wait in self._standing)

    def _earliest(self) -> Due | None:
        dues = [due for wait in self._standing for due in wait.dues]
        return min(dues, key=partial(left_of, self._life.clock), default=None)

    # --- leaving memory -----------------------------------------------------------------------

    def leave(self) -> None:
        """The life is to end, and rests: it leaves memory; queued, where it has yet to look."""
        woken = len(self.standing) < len(self._standing)
        is_to_look = not self.mailbox.is_empty if self.serves else woken
        self._leave(Status.QUEUED if is_to_look else Status.WAITING)

    def _leave(self, status: Status) -> None:
        """Write that nobody holds the task, fence the life, and only then end its code."""
        life = self._life
        self._disarm()
        self.resting = False
        with contextlib.suppress(Exception):  # `live` awaits the ledger, and is told
            life.wholly(self._suspended, status)
        life.suspend(Left())
        for task in self._seen.tasks:
            task.add_done_callback(unheard)
        for wait in self._standing:
            if wait.woken is not None and not wait.woken.done():
                wait.woken.set_exception(Suspended(life.task_id))
        for task in self._seen.held:
            life.cancel_code(task)

    def _suspended(self, status: Status) -> None:
        ledger = self._life.ledger
        ledger.change(status=status, epoch=None)
        if status is Status.WAITING:
            self._leave_word()
        ledger.due(self._earliest() if status is Status.WAITING else None)
        ledger.event("task_suspended")
        ledger.write()

    def _leave_word(self) -> None:
        """Say in the commit with which the life leaves memory what is to wake the task."""
        ledger = self._life.ledger
        if self.serves or any(wait.listens for wait in self._standing):
            ledger.change(listens=1)
            ledger.leave(self.mailbox.seen)
        children = [wait.child for wait in self._standing if wait.child is not None]
        if children:
            ledger.leave_to(children)

    async def refused(self) -> Any:
        """Raise Suspended; code that will not hear it must not keep the loop busy with that."""
        self._refusals += 1
        if self._refusals > _MOST_REFUSALS:
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)
        raise Suspended(self._life.task_id)

    def end(self) -> None:
        """The life is over: nobody stands in a wait of it any more, nor at a lock for its sake."""
        self._disarm()
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        self.mailbox.close()
        self._life.environment.lookout.forget(self)
        for wait in self._standing:
            if wait.woken is not None:
                wait.woken.cancel()
        if self._life.suspended:
            for task in self._seen.tasks:
                if task is not asyncio.current_task():
                    task.cancel()

    def _disarm(self) -> None:
        if self._calm is not None:
            self._calm.cancel()
            self._calm = None
        if self._idle is not None:
            self._idle.ends()
