"""One life of an actor in memory: from what the store remembers to how it ends.

The life runs in the asyncio task that calls `live()`. Everything that it writes goes through the
task's ledger; when it is fenced, nothing of it reaches the store any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

from ..storage.clock import Timer
from ..storage.errors import EverstepError, StoreFailed
from ..storage.records import Loaded, StepRow
from .actor import Actor, is_flow
from .code import code_of, load
from .ctx import Again
from .endings import crashed_by
from .environment import Environment
from .errors import BadCall, ReplayMismatch, Suspended, UnaskedCancellation
from .execution import perform
from .exits import Exit, Fenced, Halted, Left, Released, Succeeded
from .failures import failure_of
from .foreign import is_kind, log_error
from .history import chapter_view, lifted, present_view
from .identity import chapter_prefix
from .journal import Journal
from .keeping import Keeping
from .leash import Leash, Severed, Watch
from .ledger import Ledger
from .result import result_codec
from .schema import Schema
from .scope import CURRENT, Call, Scope
from .seat import Seat
from .standstill import may_end_unheard
from .traffic import WAKE_UP, resolve, settled_within
from .verdicts import Ended, Parted
from .waits import Waits

__all__ = ["Incarnation"]


class Incarnation(Keeping):
    """One life of one task. `live()` is called once."""

    __slots__ = ("_born", "_cutting", "_ending", "_is_under_way", "_loaded", "_outcome", "_over",
                 "_reset", "_reset_after", "_watch", "actor", "loop", "schema")  # fmt: skip

    def __init__(
        self,
        environment: Environment,
        ledger: Ledger,
        actor: type[Actor],
        *,
        reset_after: float,
        loaded: Loaded | None = None,
        seat: Seat | None = None,
    ) -> None:
        super().__init__(environment, ledger)
        self.waits = Waits(self, seat)
        self.actor = actor
        self.schema = Schema.of(actor)
        self._reset_after = reset_after
        self._born = environment.clock.monotonic()
        self._loaded = loaded
        self._cutting = False
        self._outcome: Exit | None = None
        self._watch: Watch | None = None
        self._is_under_way = False
        self._over: asyncio.Future[None] | None = None
        """Done when it is no longer under way; there once somebody waits for that."""
        self._reset: Timer | None = None
        self._ending: asyncio.Task[None] | None = None
        """What ends a halted life; ours until it has ended by itself."""
        self.loop: asyncio.AbstractEventLoop | None = None

    # --- the life ---------------------------------------------------------------------

    async def live(self) -> Exit:
        """Run the actor to its end, its crash, or to where it is ended from outside.

        Raises KeyboardInterrupt and SystemExit alone, and a cancellation that comes before the
        actor's code. On success the end is committed; recording any other exit is the caller's.
        """
        self.loop = asyncio.get_running_loop()
        self._is_under_way = True
        try:
            ended = await self._enter()
            while ended is None:
                ended = await self._chapter()
            return ended
        except EverstepError as error:
            return Fenced(self.ledger.refusal or error)
        except Exception as bug:  # noqa: BLE001  (a task is never left without a verdict)
            log_error(bug, "a life of the task %s ended by a fault of everstep", self.task_id)
            return Fenced(self.breaks(bug))
        finally:
            self.fence()
            self.waits.end()
            if self._reset is not None:
                self._reset.cancel()
            self._is_under_way = False
            if self._over is not None:
                resolve(self._over)
            self.dissolve()

    async def _enter(self) -> Exit | None:
        """Begin where the store says; how it ended, where it cannot, or is not to."""
        loaded, self._loaded = self._loaded, None
        if loaded is None:
            loaded = await load(self)
        try:
            self._begin(loaded)
        except MemoryError:
            raise
        except (Exception, Ended) as error:  # noqa: BLE001  (validators, model_post_init of users)
            to_go_on = self._command("resume()")
            return self._outcome or Halted("state_unreadable", failure_of(error), to_go_on)
        if self.draining:
            return self._outcome or Released()
        if self.ledger.progress.deaths or self.ledger.progress.brushes:
            self._reset = self.clock.call_later(self._reset_after, self._outlived)
        return None

    def _begin(self, loaded: Loaded, family: Actor | None = None) -> None:
        loaded = lifted(loaded, self.schema)
        progress = self.ledger.progress
        self.root = Scope(self, "", chapter_prefix(progress.chapter))
        view = chapter_view if is_flow(self.actor) else present_view
        self.root.view = view(loaded, self.actor, self.root, self.limits, family)
        self.journal = Journal(
            self.ledger, self.schema.version, loaded, self._born, self._reset_after
        )
        self._begun = True
        self.waits.open()
        self.effects = {row.operation: row for row in loaded.effects}

    async def _chapter(self) -> Exit | None:
        """Await the actor's own code on its leash, and end every step of it; None to go on."""
        code = code_of(self)
        leash = Leash(code)
        task = asyncio.current_task()
        assert task is not None  # live() is only ever awaited by a task
        self._watch = watch = Watch(self.clock, task, leash, self.environment.cleanup)
        token = CURRENT.set(self.root)
        value: Any = None
        error: BaseException | None = None
        try:
            value = await leash
        except BaseException as raised:  # noqa: BLE001  (the boundary of user code)
            error = raised
        finally:
            self._watch = None
            watch.settle()
            CURRENT.reset(token)
        self.waits.wake()
        if is_kind(error, Severed):
            self.root.cut_off()
            self.environment.severed.append(code)
        if watch.cause is not None and self._outcome is None:
            self._outcome = Released(is_kind(error, Severed), self.steps_running)
        ended = await self._conclude(value, error)
        if not isinstance(ended, Again):
            return ended
        await self._next_chapter()
        return Released() if self.is_fenced else None

    async def _conclude(self, value: Any, error: BaseException | None) -> Exit | Again:
        if is_kind(error, (KeyboardInterrupt, SystemExit)):
            self.cut_short()
            raise error
        await self._wind_up()
        if self.root.halted and self._outcome is None:
            await asyncio.sleep(0)  # a thread has halted it, which the loop hears in this turn
        if (refused := self.ledger.refusal) is not None:
            return Fenced(refused)
        if self.journal.finished:
            await self.ledger.durable()
            return Succeeded()
        if isinstance(self._outcome, Left):
            await self.ledger.durable()
        if self._outcome is not None:
            return self._outcome
        if error is None:
            try:
                return await self._returned(value)
            except EverstepError as unfit:
                error = unfit
        if (refused := self.ledger.refusal or self.store_failed(error)) is not None:
            return Fenced(refused)
        if self.environment.store.is_ending:
            await asyncio.sleep(0)  # in which is told that a step of its own has ended the loop
            return Released()
        if is_kind(error, (asyncio.CancelledError, Severed)):
            error = UnaskedCancellation("run")
        return crashed_by(error, self.root, self.ledger)

    # --- how it ended -----------------------------------------------------------------

    async def _returned(self, value: Any) -> Exit | Again:
        self.check_fenced()
        self.sync(self.root)
        if isinstance(value, Again):
            return value
        codec = result_codec(self.actor)
        output, _ = codec.settle(value, "the result of the task", self.limits)
        self.go_live()
        self.wholly(self.journal.succeeded, output)
        await self.ledger.durable()
        return Succeeded()

    async def _wind_up(self) -> None:
        """`run` is over: end the steps that still run, uncharged, and wait for that, bounded."""
        traffic = self.journal.traffic
        if isinstance(self._outcome, Halted):
            await traffic.landed_within(self.clock, traffic.attempts, self.environment.grace)
        await self.end_below(self.root)
        self.waits.end()

    async def end_below(self, scope: Scope) -> None:
        """End the steps that were called in this scope and still run; uncharged and bounded."""
        traffic = self.journal.traffic
        scope.ended = True
        for row in traffic.let_go_below(scope):
            self.let_go(row, "step_cut")
        running = traffic.below(scope)
        if running:
            cleanup = self.environment.cleanup
            for attempt in await traffic.end(self.clock, running, Parted(), cleanup):
                self.let_go_of(attempt)

    def _command(self, action: str) -> str:
        return f"await runtime.task({self.task_id!r}).{action}"

    # --- ended from outside -----------------------------------------------------------

    async def release(self, *, grace: float, cleanup: float) -> None:
        """End the life in order: no new attempt, then `grace` seconds for those in the air.

        After that everything is cancelled, and `cleanup` seconds later never resumed again.
        Returns when `live()` has returned, or shortly after that last moment. Cancelling it
        leaves the life draining.
        """
        self.draining = True
        if not self._is_under_way:
            return
        if not self._begun:
            await self._over_within(cleanup)
            return
        if self.waits.resting and not self.is_fenced:
            self.waits.leave()
            await self._over_within(cleanup)
        traffic = self.journal.traffic
        until = self.clock.monotonic() + grace
        await traffic.landed_within(self.clock, traffic.attempts, grace)
        for call in list(self.root.running_calls):
            await call.over_within(self.clock, until - self.clock.monotonic())
        self._cutting = True
        for attempt in list(traffic.attempts):
            attempt.end_with(Parted())
        if self._watch is not None:
            self._watch.end(Parted())
        await self._over_within(cleanup)
        for attempt in list(traffic.attempts):
            attempt.cut()
        if self._watch is not None:
            self._watch.cut()
        if not await self._over_within(WAKE_UP):
            self.cut_short()

    def suspend(self, left: Left) -> None:
        """From now on every call of its code raises Suspended, and nothing of it is written."""
        self._outcome = left
        self.suspended = True
        self.fence()
        if self._watch is not None:
            self._watch.expect_end(Suspended(self.task_id))

    def cancel_code(self, task: asyncio.Task[Any]) -> None:
        """Cancel one of the asyncio tasks that run its code, the one of `run` in due form."""
        if self._watch is not None and self._watch.is_of(task):
            self._watch.cancel()
        else:
            task.cancel()

    async def _over_within(self, seconds: float) -> bool:
        """Whether `live()` returns within that time."""
        if not self._is_under_way:
            return True
        if self._over is None:
            self._over = asyncio.get_running_loop().create_future()
        await settled_within(self.clock, self._over, seconds)
        return self._over.done()

    def halt(self, scope: Scope, reason: str, error: EverstepError, action: str) -> Ended:
        """The task cannot go on without a person: begin nothing new, and end as `Halted`.

        Whatever the attempts make of it that are in the way, they are cut and not charged.
        """
        halted = Halted(reason, failure_of(error), self._command(action))
        return self._end_as(halted, scope, reason)

    def lose_store(self, scope: Scope, failed: StoreFailed) -> Ended:
        """The store cannot be read: the same, but that the task is given back; what to raise."""
        return self._end_as(Fenced(failed), scope, "the store has failed")

    def _end_as(self, outcome: Exit, scope: Scope, reason: str) -> Ended:
        scope.halts()
        may_end_unheard()
        if self._outcome is None and self._is_under_way:
            self.waits.wake()  # its code has met this, so it runs, and is not to leave memory
            self._outcome, self.draining = outcome, True
            environment = self.environment
            ending = self.release(grace=environment.grace, cleanup=environment.cleanup)
            self._ending = asyncio.get_running_loop().create_task(ending)
        return Ended(reason)

    # --- asked by scopes and attempts ---------------------------------------------------

    def perform(self, call: Call) -> Coroutine[Any, Any, Any]:
        """The coroutine of a call, under the step's name for whoever forgets to await it."""
        named: Any = perform(self, call)
        named.__qualname__ = call.definition.name
        return cast("Coroutine[Any, Any, Any]", named)

    def check(self) -> None:
        """Raise why the life takes no more calls, if it does not."""
        if self.suspended or self.is_fenced:
            self.check_fenced()
        if self._outcome is not None:
            raise Ended("the task is halted")
        self.waits.wake()

    def here(self) -> asyncio.Task[Any]:
        """The asyncio task in which a step or an effect is awaited just now.

        Raises BadCall in one of another loop, as a thread may have.
        """
        task = asyncio.current_task()
        if task is None or task.get_loop() is not self.loop:
            here, why = CURRENT.get(), "awaits something of its task on another event loop"
            instead = "it as async def; or asyncio.run_coroutine_threadsafe(…, loop).result()"
            raise BadCall("step", (here and here.identity) or "run", why, instead)
        return task

    def is_open(self) -> bool:
        """Whether an attempt may begin at once; if not, `gate` returns when it may."""
        self.check()
        return not self.draining and self.environment.store.trouble is None

    async def gate(self) -> None:
        """Return when an attempt may begin: not while stopping, nor while the store fails."""
        self.check()
        _ = self.here()
        if self._cutting:
            raise asyncio.CancelledError
        if self.draining:
            await asyncio.get_running_loop().create_future()
        if self.environment.store.trouble is not None:
            await self.environment.store.ready()
            await self.gate()

    def take(self, call: Call) -> StepRow | None:
        """What is recorded of this call. Halts the task where its arguments do not fit."""
        self.check_fenced()
        row = self.journal.recollection.take(call)
        if row is None or call.key or row.digest == call.digest:
            return row
        finished = row.outcome is not None
        if not finished and not self.effects_of(row.identity):
            return row
        self.journal.recollection.put(row)
        example = call.definition.key_example()
        was = "was finished" if finished else "had begun an effect"
        error = ReplayMismatch(row.identity, row.preview, call.preview, example, was)
        self.halt(call.scope, "replay_mismatch", error, "resume()")
        raise error

    # --- later ------------------------------------------------------------------------

    async def _next_chapter(self) -> None:
        """Begin `run` anew on the present state, with nothing behind it. One commit."""
        self.go_live()
        self.wholly(self.journal.next_chapter, self.root.view)
        self.root.ended = True
        await self.ledger.durable()
        loaded = await load(self)
        self._begin(loaded, self.root.view)

    def _outlived(self) -> None:
        """Living long enough in one process clears the deaths, whether or not a step ends."""
        if not self.is_fenced:
            self.ledger.change(deaths=0, brushes=0)
            self.ledger.write()
