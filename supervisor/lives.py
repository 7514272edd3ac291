"""The lives that a pool holds: begun, ended in order, and each end recorded once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from contextvars import Context
from dataclasses import replace
from typing import Any

from ..actors.actor import Actor
from ..actors.blame import blame_of
from ..actors.environment import Environment
from ..actors.exits import Crashed, Exit, Fenced, Halted, Released
from ..actors.failures import HalfDone, failure_of
from ..actors.foreign import is_kind, log_error
from ..actors.incarnation import Incarnation
from ..actors.ledger import Ledger
from ..storage.errors import EverstepError, Refused, StoreClosed, StoreFailed
from ..storage.records import LIVING, EffectState, Loaded, Progress, Status, StepReset, TaskRow
from .applying import apply, cut
from .decisions import Decision, after_crash, after_halt, after_release
from .giving_up import escalation
from .life import Life
from .notices import tell_of_end
from .pool_spec import DEFAULT_RESTART, Pool
from .restart import Restart
from .seats import Seats
from .waiting import all_done

__all__ = ["Lives"]

_LOG = logging.getLogger("everstep")
_TRIES = 3
"""How often the end of a life is written again on a row that has not changed since."""
_RECORDING = 5.0
"""Seconds in which the ends of lives must be recorded when the pool stops."""

Resets = Iterable[StepReset]


class Lives:
    """Owns one asyncio task for each life, and what must be written when it has ended.

    `on_free` is told when a slot is free again, `on_failure` when the store has failed, or a task
    was given up that the pool at `path` is to fail with, `on_leaving` when a task ends the process
    and all lives there are, of whatever pool, must be handed in at once. `spec_of` tells the
    pool's present policy.
    """

    def __init__(
        self,
        environment: Environment,
        path: str,
        spec_of: Callable[[], Pool],
        seats: Seats,
        *,
        on_free: Callable[[Life], None],
        on_failure: Callable[[Exception], None],
        on_leaving: Callable[[], None],
    ) -> None:
        self._environment = environment
        self._path = path
        self._spec_of = spec_of
        self.seats = seats
        self._on_free = on_free
        self._on_failure = on_failure
        self._on_leaving = on_leaving
        self._context = Context()
        self._on_run_ended = self._run_ended  # one for all lives
        self._held: dict[int, Life] = {}
        self._cuts: set[asyncio.Task[None]] = set()
        self.graveyard: set[asyncio.Task[None]] = set()
        """Tasks whose code swallowed its end: never resumed by us, kept so that none is lost."""
        self.stopping = False

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: int) -> bool:
        return key in self._held

    def __iter__(self) -> Iterator[Life]:
        return iter(self._held.values())

    def get(self, key: int) -> Life | None:
        return self._held.get(key)

    @property
    def _restart(self) -> Restart:
        return self._spec_of().restart

    # --- one life -----------------------------------------------------------------------

    def begin(self, ledger: Ledger, actor: type[Actor], loaded: Loaded | None = None) -> Life:
        """Take a slot and run the task once the claim on its ledger is committed.

        `loaded` is what the store holds once it is, where that is known. Every life begins in
        the same empty context, whoever started the task.
        """
        seat = self.seats.take(ledger.row.key, ledger.row.lane)
        life = self._held[ledger.row.key] = Life(ledger, actor, seat, loaded)
        loop = asyncio.get_running_loop()
        name = f"everstep task {life.task_id}"
        life.task = loop.create_task(self._run(life), name=name, context=self._context.copy())
        life.task.add_done_callback(self._on_run_ended, context=self._context)
        return life

    async def _run(self, life: Life) -> None:
        try:
            begun = await self._enter(life)
            ended = await begun.live() if isinstance(begun, Incarnation) else begun
            await self._record(life, ended)
        except (KeyboardInterrupt, SystemExit) as leaving:
            if leaving is life.exit:
                return  # the process is ending by that already
            self._note_leaving(life, leaving)
            raise
        except Exception as bug:
            with suppress(EverstepError):  # the store, whose own trouble is told elsewhere
                await self._reclaim(life, bug)
            raise
        finally:
            self._free(life)

    def _run_ended(self, task: asyncio.Task[None]) -> None:
        """A bug of ours is told; what ends the process has left the loop already."""
        error = None if task.cancelled() else task.exception()
        if is_kind(error, Exception):
            self._on_failure(error)

    async def _enter(self, life: Life) -> Incarnation | Exit:
        """Its incarnation, once the claim is committed; how it ends where it gets none."""
        try:
            await life.ledger.durable()
        except (Refused, StoreFailed) as refusal:
            return Fenced(refusal)
        except (StoreClosed, asyncio.CancelledError):
            return Released()
        finally:
            life.was_claimed()
        if self.stopping or life.ledger.status is not Status.RUNNING:
            return Released()
        try:
            life.incarnation = Incarnation(
                self._environment,
                life.ledger,
                life.actor,
                reset_after=self._restart.reset_after,
                loaded=life.take_loaded(),
                seat=life.seat,
            )
        except EverstepError as unfit:
            remedy = f"await runtime.task({life.task_id!r}).resume()"
            return Halted("state_unreadable", failure_of(unfit), remedy)
        return life.incarnation

    def _note_leaving(self, life: Life, leaving: BaseException) -> None:
        """The process is told to end from within a step: SystemExit is a crash, ^C is not.

        It leaves the loop at once and ends it, so all lives are given back in this very turn;
        the store still writes what it has been handed.
        """
        if is_kind(leaving, SystemExit):
            self._hand_in_as(life, Crashed(failure_of(leaving), never_retried=False))
        self._on_leaving()

    def exits(self, key: int, error: BaseException) -> None:
        """The same, from an asyncio task that the code of this task has made."""
        life = self._held.get(key)
        if life is not None:
            life.exit = error
            self._note_leaving(life, error)

    def hand_in(self) -> None:
        """Give all lives back in this very turn, since the loop is about to end."""
        for held in list(self._held.values()):
            self._hand_in_as(held, Released(late=held.steps_running))

    def _hand_in_as(self, life: Life, ended: Exit) -> None:
        try:
            if life.incarnation is not None:
                life.incarnation.cut_short()
            if self._put(life, ended):
                life.ledger.write()
        except (Refused, StoreFailed, StoreClosed) as failure:
            _LOG.warning("the end of the task %s could not be recorded: %s", life.task_id, failure)

    def _free(self, life: Life) -> None:
        if self._held.get(life.key) is life:
            del self._held[life.key]
            self.seats.give(life.key)
        if life.trial is not None:
            life.trial.cancel()
        if not life.is_over:
            life.end()
            self._on_free(life)

    # --- recording ----------------------------------------------------------------------

    async def _record(self, life: Life, ended: Exit) -> None:
        """Make durable what follows from an end. Whoever comes second finds it done."""
        try:
            if self._put(life, ended):
                await life.ledger.durable()
                self._escalate(life.ledger)
            if isinstance(ended, Fenced) and isinstance(ended.refusal, Refused):
                await self._reclaim(life, ended.refusal)
        except HalfDone as fault:
            await self._reclaim(life, fault)
        except Refused as refused:
            _LOG.debug("an end was recorded by somebody else: %s", refused)
        except (StoreFailed, StoreClosed) as failure:
            self._on_failure(failure)

    def _escalate(self, ledger: Ledger) -> None:
        """Fail the pool with a task that was given up, where its policy says so."""
        error = escalation(self._path, ledger.row.id, ledger.progress, self._restart)
        if error is not None:
            self._on_failure(error)

    async def _reclaim(self, life: Life, cause: Exception) -> None:
        """Record the end of a life that could not write it itself although the task is still ours.

        Trying again would fail again: it is given up, and an operator may resume it. But for a
        fault that came between: it is restarted as after any crash.
        """
        if isinstance(cause, HalfDone):
            crashed = Crashed(cause.failure, never_retried=False)
        else:
            crashed = Crashed(failure_of(cause, final=True), never_retried=True)
        seen, left = None, _TRIES
        while left and (row := await self._still_ours(life)) is not None:
            left -= row.progress == seen
            seen = row.progress
            _LOG.error("a write of the task %s was refused or failed: %s", life.task_id, cause)
            life.ended, life.ledger = life.ended or crashed, Ledger(self._environment, row)
            cut(life.ledger, await self._environment.store.open_steps([life.key]))
            apply(life.ledger, self._after_crash(seen, crashed))
            try:
                await life.ledger.durable()
            except Refused:
                continue  # a write of its own was on its way, or somebody else has it now
            life.ended = crashed
            self._escalate(life.ledger)
            tell_of_end(life.task_id, life.ledger.progress, crashed)
            return
        if not left:
            self._on_failure(cause)

    async def _still_ours(self, life: Life) -> TaskRow | None:
        """The task, where the store shows the very life that this one was."""
        row, store = await self._environment.store.task(life.task_id), self._environment.store
        if row is None or row.key != life.key or row.progress.epoch != store.epoch:
            return None
        same = row.progress.incarnation == life.ledger.progress.incarnation
        return row if same and row.progress.status in LIVING else None

    def _put(self, life: Life, ended: Exit) -> bool:
        """Put what follows from an end on the ledger; whether there is anything."""
        if life.ended is not None:
            return False
        life.ended = ended
        if isinstance(ended, Fenced):
            if isinstance(ended.refusal, StoreFailed):
                self._on_failure(ended.refusal)
            if life.ledger.refusal is not None or not isinstance(ended.refusal, StoreFailed):
                return False  # but for a store that can be written and not be read
        if life.ledger.status is not Status.RUNNING:
            return False  # it succeeded, or an operator has ended it
        decision, resets = self._decide(life, ended)
        apply(life.ledger, decision, resets)
        tell_of_end(life.task_id, life.ledger.progress, ended)
        return True

    def _decide(self, life: Life, ended: Exit) -> tuple[Decision, Resets]:
        """What becomes of the task: it is given back where nothing else follows from the end."""
        progress = life.ledger.progress
        if isinstance(ended, Crashed):
            return self._after_crash(progress, ended), ended.forget
        if isinstance(ended, Halted) and not _was_settled(life, ended):
            return after_halt(progress, ended), ()
        return after_release(progress, ended if isinstance(ended, Released) else Released()), ()

    def _after_crash(self, progress: Progress, ended: Crashed) -> Decision:
        error = blame_of(ended).encoded()
        now, chance = self._environment.clock.now(), self._environment.chance
        try:
            return after_crash(progress, ended, self._restart, now=now, chance=chance, error=error)
        except Exception as broken:  # noqa: BLE001  code of the user's
            log_error(broken, "the backoff of the pool failed; the default is used instead")
            mended = replace(self._restart, backoff=DEFAULT_RESTART.backoff)
            return after_crash(progress, ended, mended, now=now, chance=chance, error=error)

    # --- ended from outside ---------------------------------------------------------------

    async def end(self, life: Life, decide: Callable[[Progress], Decision]) -> bool:
        """Let an operator end a life: fenced, then committed, then cut. False if it had ended.

        Cancelling the caller stops none of it. Raises Refused, StoreFailed.
        """
        if life.ended is not None or not life.goes_on:
            await all_done(self._environment.clock, [life.over], _RECORDING)
            return False
        decision = decide(life.ledger.progress)
        if life.incarnation is not None:
            life.incarnation.cut_short()
        apply(life.ledger, decision)
        life.ledger.write()
        committed = self._own(life.ledger.durable())
        self._own(self._cut(life, committed)).set_name(f"everstep cut {life.task_id}")
        await asyncio.shield(committed)
        return True

    async def _cut(self, life: Life, committed: asyncio.Task[None]) -> None:
        await asyncio.wait([committed])
        await self._release(life, 0, self._environment.cleanup)

    def _own(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._cuts.add(task)
        task.add_done_callback(self._cut_ended)
        return task

    def _cut_ended(self, task: asyncio.Task[None]) -> None:
        self._cuts.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not is_kind(error, EverstepError):  # whose caller is told
            log_error(error, "%s failed", task.get_name())

    async def stop(self, grace: float, cleanup: float) -> tuple[str, ...]:
        """End all lives in order, side by side; who was late. Bounded; may be called again.

        Cancelling it leaves every life draining; a second call with less time goes on.
        """
        self.stopping = True
        lives = list(self._held.values())
        releases = [self._own(self._release(life, grace, cleanup)) for life in lives]
        try:
            if releases:
                await asyncio.wait(releases)
            overs = [life.over for life in lives]
            recorded = await all_done(self._environment.clock, overs, _RECORDING)
        finally:
            for release in releases:
                release.cancel()
        late = [name for life in lives for name in _late(life)]
        if not recorded:
            late += [f"{life.task_id} (not recorded)" for life in lives if not life.is_over]
        return tuple(late)

    async def _release(self, life: Life, grace: float, cleanup: float) -> None:
        """End one life; where its code never ends, record that on its behalf."""
        incarnation = life.incarnation
        if incarnation is None:
            return  # its claim is under way, and it will see that nobody wants it
        await incarnation.release(grace=grace, cleanup=cleanup)
        if life.ended is None and life.task is not None and not life.task.done():
            incarnation.fence()
            self.graveyard.add(life.task)
            life.task.add_done_callback(self.graveyard.discard)
            await self._record(life, Released(severed=True, late=life.steps_running))
            self._free(life)


def _was_settled(life: Life, ended: Halted) -> bool:
    """Whether a person has decided what it halted for while its other steps were still ending."""
    if ended.reason != "effect_unknown" or life.incarnation is None:
        return False
    effects = life.incarnation.effects.values()
    return not any(row.state is EffectState.INTENT for row in effects)


def _late(life: Life) -> list[str]:
    """Who did not reach a checkpoint in time, or did not end at all."""
    if not isinstance(life.ended, Released):
        return []
    steps = [f"{life.task_id} {step}" for step in life.ended.late]
    return steps or ([life.task_id] if life.ended.severed else [])
