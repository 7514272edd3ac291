"""What a life keeps in order while it runs: its fence, the state taken over, the rows recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..storage.errors import EverstepError, StaleIncarnation, StoreFailed
from ..storage.records import EffectRow, EffectState, StepRow
from .environment import Environment
from .errors import LogItemChanged, Suspended
from .failures import HalfDone, failure_of
from .foreign import is_kind, members_within
from .identity import inside
from .journal import Journal
from .ledger import Ledger
from .state import NOTHING, Changes, changed_items, collect, rebase

if TYPE_CHECKING:
    from .attempt import Attempt
    from .scope import Call, Scope
    from .waits import Waits

__all__ = ["Keeping"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Keeping:
    """The part of an incarnation that its steps write through. Nothing here awaits."""

    __slots__ = ("_begun", "checkpoints", "clock", "draining", "effects", "environment",
                 "is_fenced", "journal", "ledger", "limits", "root", "suspended",
                 "waits")  # fmt: skip

    root: Scope
    journal: Journal
    waits: Waits
    effects: dict[str, EffectRow]

    def __init__(self, environment: Environment, ledger: Ledger) -> None:
        self.environment = environment
        self.clock = environment.clock
        self.limits = environment.limits
        self.ledger = ledger
        self.is_fenced = False
        self.suspended = False
        """It has left memory, or is just leaving."""
        self.draining = False
        """Its end was asked for, or it is halted: no attempt begins any more."""
        self._begun = False
        """It has its journal."""
        self.checkpoints = 0
        """How many checkpoints this life has reached."""

    @property
    def task_id(self) -> str:
        return self.ledger.row.id

    @property
    def goes_on(self) -> bool:
        """Whether it is still ours to write, and nobody has asked for its end."""
        return not self.is_fenced and not self.draining

    @property
    def is_acting(self) -> bool:
        """Whether a step executes just now, or the call of an effect in `run`."""
        return self._begun and bool(self.journal.traffic.attempts or self.root.running_calls)

    @property
    def steps_running(self) -> tuple[str, ...]:
        """Identities of the steps that execute just now."""
        if not self._begun:
            return ()
        return tuple(attempt.identity for attempt in self.journal.traffic.attempts)

    # --- the fence ----------------------------------------------------------------------

    def fence(self) -> None:
        """From now on nothing of this life reaches the ledger, and every call in it raises.

        What its attempts have written to streams until now is handed over before.
        """
        if not self.is_fenced:
            for attempt in self.journal.traffic.attempts if self._begun else ():
                attempt.flush()
            self.is_fenced = True

    def wholly(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do what must not be done by half: after a fault in it nothing of this life is written."""
        try:
            return work(*args, **kwargs)
        except BaseException as fault:
            self.breaks(fault)
            raise

    def breaks(self, fault: BaseException) -> EverstepError:
        """What is to be recorded is half put together: the next life begins from the store's.

        Returns why nothing more is taken from this one.
        """
        broken = HalfDone(self.task_id)
        self.ledger.refuse(broken)
        self.fence()
        broken.failure = failure_of(fault)
        return self.ledger.refusal or broken

    def store_failed(self, error: BaseException) -> StoreFailed | None:
        """The failure of our own store, where an exception is that: it is no fault of the task."""
        path, within = self.environment.store.path, members_within(error)
        failures = (one for one in within if is_kind(one, StoreFailed))
        return next((one for one in failures if one.path == path), None)

    def check_fenced(self) -> None:
        """Raise if nothing of this life may reach the ledger any more."""
        if self.suspended:
            raise Suspended(self.task_id)
        if self.is_fenced:
            raise StaleIncarnation(self.task_id, "this life of the actor has ended")

    def dissolve(self) -> None:
        """The life is over: let go of what refers to it, unless something may come back to it.

        So all of it is freed at once, and the collector finds nothing. Code of the user that is
        left has a view, and through that this life, which refuses its calls.
        """
        if not self._begun or self.draining or self.suspended or not self.root.ended:
            return
        if self.journal.traffic.is_idle and not self.is_acting:
            self._begun = False
            del self.waits, self.root.view, self.root

    # --- the log, and effects -----------------------------------------------------------

    def note(self, kind: str, step: str | None, data: dict[str, Any]) -> None:
        """Put an event on the log with the next commit; nothing where none is sure to come."""
        if self._begun and self.goes_on and not self.journal.finished and not self.ledger.refusal:
            self.ledger.event(kind, step=step, data=data)

    def effects_of(self, identity: str) -> list[EffectRow]:
        """Effects that this step, or one below it, has made or may have made."""
        return [
            row
            for row in self.effects.values()
            if row.state is not EffectState.NOT_DONE
            and (row.step == identity or row.step.startswith(inside(identity)))
        ]

    # --- steps under way ----------------------------------------------------------------

    def sets_out(self) -> None:
        """A step is under way, which keeps the life from resting."""
        self.go_live()
        self.journal.traffic.enters()

    def arrives(self, call: Call) -> None:
        """A step is under way no longer, however it ended."""
        traffic = self.journal.traffic
        traffic.backed_off(call.identity)
        traffic.leaves()
        self.waits.stir()
        if self.goes_on:
            only = traffic.only_waits()
            self.journal.no_longer_due(only)
            self.waits.backs_off_no_more(only)

    # --- the state ----------------------------------------------------------------------

    def sync(self, scope: Scope) -> None:
        """Take over what the code of a scope has changed so far, by itself."""
        changes = collect(scope.view, owner=scope.identity or "run", limits=self.limits)
        if self.environment.debug:
            self.check_logs(scope)
        if changes is not NOTHING:
            self.wholly(self._take_over, scope, changes)

    def _take_over(self, scope: Scope, changes: Changes) -> None:
        rebase(scope.view, changes)
        if scope is self.root:
            self.journal.run_changed(changes)

    def go_live(self) -> None:
        """The code has come to something that the store does not know yet."""
        if not self.journal.run_changes.live:
            self.wholly(self.journal.enter_live, self.root.view)

    def check_logs(self, scope: Scope) -> None:
        """Raise LogItemChanged where code of this scope changed an item that is written already."""
        for field, places in changed_items(scope.view).items():
            raise LogItemChanged(scope.identity or "run", field, places)

    def checkpointed(self, call: Call, attempt: Attempt, row: StepRow) -> None:
        """A step has its checkpoint on the ledger: settle what a checkpoint settles."""
        self.checkpoints += 1
        journal = self.journal
        journal.settle_counters()
        if attempt.nested:
            journal.recollection.drop(attempt.nested)
        if call.scope is self.root:
            journal.grows(row, self.root.view)
        else:
            self.remember(call, row)

    def let_go(self, row: StepRow, kind: str) -> None:
        """An attempt was ended by others: record that without waiting, and charge nothing."""
        if not self.is_fenced and self.ledger.refusal is None:
            self.journal.let_go(row, kind)

    def let_all_go(self) -> None:
        """Record of each attempt that it was cut."""
        if self._begun:
            traffic = self.journal.traffic
            for row in traffic.let_go_below(self.root):
                self.let_go(row, "step_cut")
            for attempt in traffic.attempts:
                self.let_go_of(attempt)

    def cut_short(self) -> None:
        """The life ends in this very turn: let all its attempts go, and fence it."""
        with suppress(EverstepError):  # of the store, whose trouble is told elsewhere
            self.let_all_go()
        self.fence()

    def let_go_of(self, attempt: Attempt) -> None:
        """The same of an attempt in the air, which may never land; once."""
        if not attempt.is_let_go:
            attempt.is_let_go = True
            self.let_go(attempt.row, "step_cut")

    def may_exit(self) -> None:
        """A step is left by what ends the process, if it leaves its asyncio task too.

        That is told when the loop runs next, as it does for whoever cancels all that is left.
        """
        task = asyncio.current_task()
        if task is not None:
            task.remove_done_callback(self._exited)  # of an earlier one, which the code has caught
            task.add_done_callback(self._exited)

    def _exited(self, task: asyncio.Task[Any]) -> None:
        error, told = None if task.cancelled() else task.exception(), self.environment.on_exit
        if told is not None and is_kind(error, (KeyboardInterrupt, SystemExit)):
            told(self.ledger.row.key, error)

    def take_back(self, scope: Scope, row: StepRow, kind: str) -> None:
        """Whoever called it left while its failure was written: it leaves nothing."""
        scope.hears_nothing(row.identity)
        if self.goes_on and self.ledger.refusal is None:
            self.journal.forget(row.identity)
            self.let_go(row._replace(outcome=None, seq=None, attempts=0, error=None), kind)

    def remember(self, call: Call, row: StepRow) -> None:
        """Keep the outcome of a step below a step, for the next attempt of that."""
        if call.scope is not self.root:
            call.scope.traces.nested.add(row.identity)
            self.journal.recollection.put(row)
