"""`self.ctx`: all that an actor can ask of the runtime."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Never, TypeVar, TypeVarTuple, overload
from uuid import UUID

from . import rows
from .asking import ASK, ask, question_of
from .definition import named_step
from .effects import Done, NotDone, NotDoneRule
from .errors import BadCall
from .identity import stable_id
from .messages import Matcher
from .never_sent import never_sent
from .offspring import Offspring
from .once import perform_once
from .peer import Peer
from .receiving import SEND, receive, ride
from .step import seconds_of
from .telling import Telling, named
from .timers import chosen_delay, chosen_instant, sleep
from .values import ValueCodec
from .verbs import verb_of, waited

if TYPE_CHECKING:
    from .actor import Actor
    from .scope import Scope

__all__ = ["Again", "Ctx"]

A = TypeVar("A", bound="Actor")
M = TypeVar("M")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")
OnUnknown = Literal["pause", "retry", "fail"]

_OURS = ("task_", "step_", "steps_", "effect_", "chapter_", "wait_", "message_", "child_")


class Again:
    """What `ctx.again()` gives: returned from `run`, it begins the next chapter."""

    __slots__ = ()


class Ctx(Telling, Offspring):
    """What an actor can ask of the runtime, in `run` and in its steps.

    Used in `run` outside a step, a verb is numbered like a step and recorded, so that a replay
    answers the same and repeats nothing. Inside a step it rides with the step's commit.
    """

    __slots__ = ()

    def operation_id(self, key: str) -> str:
        """The id of the effect `key` of this step: the same in every attempt, life and process."""
        scope = self._scope.present()
        return stable_id(self._seed, "effect", scope.prefix, named("key", key))

    @overload
    async def once(
        self,
        key: str,
        fn: Callable[[*Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        probe: Callable[[str], Awaitable[Done[R] | NotDone]] | None = None,
        on_unknown: OnUnknown = "pause",
        not_done: NotDoneRule = never_sent,
    ) -> R: ...
    @overload
    async def once(
        self,
        key: str,
        fn: Callable[[*Ts], R],
        /,
        *args: *Ts,
        probe: Callable[[str], Awaitable[Done[R] | NotDone]] | None = None,
        on_unknown: OnUnknown = "pause",
        not_done: NotDoneRule = never_sent,
    ) -> R: ...
    async def once(
        self,
        key: str,
        fn: Callable[[*Ts], Any],
        /,
        *args: *Ts,
        probe: Callable[[str], Awaitable[Done[Any] | NotDone]] | None = None,
        on_unknown: OnUnknown = "pause",
        not_done: NotDoneRule = never_sent,
    ) -> Any:
        """Call `fn(*args)` with an intent before it and a receipt after it, both durable.

        A repeat finds the receipt and does not call `fn`. Where neither a receipt nor a proof to
        the contrary is there, the effect is unknown: `probe(operation_id)` decides, or
        `on_unknown`: pause the task for a person, retry, or fail with EffectUnknown.
        A plain function runs in a thread. Cancelling leaves the effect open, and so unknown.

        Raises:
            DuplicateKey: this attempt has used `key` already.
            EffectMismatch: the intent was written with other arguments.
            EffectUnknown: it is unknown, and `on_unknown="fail"`.
        """
        if self._scope.life.suspended:
            await self._scope.life.waits.refused()
        scope = self._scope.present()
        if on_unknown not in ("pause", "retry", "fail"):
            raise BadCall("on_unknown", on_unknown, "is unknown", 'on_unknown="pause"')
        operation = self.operation_id(key)
        return await perform_once(
            scope, key, operation, fn, args, probe=probe, on_unknown=on_unknown, not_done=not_done
        )

    @overload
    def step(
        self,
        fn: Callable[[*Ts], Coroutine[Any, Any, R]],
        /,
        *args: *Ts,
        name: str | None = None,
        key: str = "",
    ) -> Coroutine[Any, Any, R]: ...
    @overload
    def step(
        self, fn: Callable[[*Ts], R], /, *args: *Ts, name: str | None = None, key: str = ""
    ) -> Coroutine[Any, Any, R]: ...
    def step(
        self, fn: Callable[[*Ts], Any], /, *args: *Ts, name: str | None = None, key: str = ""
    ) -> Coroutine[Any, Any, Any]:
        """Run any function as a step: checkpointed, retried, and not repeated in a replay.

        A plain function runs in a thread. `name` is the function's own unless given, and a lambda
        needs one; calls that may come in any order need a `key`.
        """
        if name is not None:
            named("name", name)
        if self._scope.life.suspended:
            return self._scope.life.waits.refused()
        return self._scope.present().perform(named_step(fn, name), args, {}, key)

    # --- waits: in `run` only -------------------------------------------------------------

    def sleep(self, seconds: float | timedelta, *, key: str = "") -> Coroutine[Any, Any, None]:
        """Wait that long, over restarts too: what is left is waited, never more than was chosen.

        A wait whose end is far leaves memory. A replay does not wait again. Cancelling it leaves
        nothing of it. Calls from several asyncio tasks at once need a `key`.

        Raises:
            WaitInStep: it was called in a step.
            Suspended: the task leaves memory meanwhile; not to be caught.
        """
        choose, shown = chosen_delay(seconds)
        return waited(self._scope, "ctx.sleep", shown, key, lambda call: sleep(call, choose))

    def sleep_until(self, instant: datetime, *, key: str = "") -> Coroutine[Any, Any, None]:
        """Wait until the clock shows that instant, wherever it is set meanwhile; see `sleep`.

        `instant` names its time zone; a past one is over at once.
        """
        choose, shown = chosen_instant(instant)
        return waited(self._scope, "ctx.sleep_until", shown, key, lambda call: sleep(call, choose))

    @overload
    def receive(
        self, kind: type[M], *, timeout: float | timedelta | None = None, key: str = ""
    ) -> Coroutine[Any, Any, M]: ...
    @overload
    def receive(
        self, kind: object, *, timeout: float | timedelta | None = None, key: str = ""
    ) -> Coroutine[Any, Any, Any]: ...
    def receive(
        self, kind: object, *, timeout: float | timedelta | None = None, key: str = ""
    ) -> Coroutine[Any, Any, Any]:
        """Wait for a message of that type and take it; the others stay, in their order.

        Taking it is one commit with its record, so it is taken once, and a replay returns the
        same. `timeout` counts from the beginning of the wait, over restarts too. Cancelling it
        takes nothing.

        Raises:
            WaitTimeout: none came in time. A replay raises it again.
            WaitInStep: it was called in a step.
        """
        matcher = Matcher(kind)
        return waited(
            self._scope,
            "ctx.receive",
            matcher.shown,
            key,
            lambda call: receive(call, matcher, timeout),
        )

    @overload
    def ask_human(
        self,
        prompt: str,
        *,
        schema: type[M],
        timeout: float | timedelta | None = None,
        remind: float | timedelta | None = None,
        key: str = "",
    ) -> Coroutine[Any, Any, M]: ...
    @overload
    def ask_human(
        self,
        prompt: str,
        *,
        schema: object,
        timeout: float | timedelta | None = None,
        remind: float | timedelta | None = None,
        key: str = "",
    ) -> Coroutine[Any, Any, Any]: ...
    def ask_human(
        self,
        prompt: str,
        *,
        schema: object,
        timeout: float | timedelta | None = None,
        remind: float | timedelta | None = None,
        key: str = "",
    ) -> Coroutine[Any, Any, Any]:
        """Put a question into the inbox and wait for the answer of a person.

        `schema` is a pydantic model, bool, int, float, str or a Literal of such. The question is in
        `runtime.inbox()` while the wait is open, and `task.answer(…)` ends it. `timeout` counts
        from the beginning, over restarts too. Cancelling it takes the question back.
        Every `remind` seconds without an answer a reminder is recorded, in memory or out of it: an
        event `wait_reminded`, and in the inbox. Whoever delivers it to people reads these.

        Raises:
            WaitTimeout: nobody answered in time. A replay raises it again.
            WaitInStep: it was called in a step.
        """
        question, every = question_of(prompt, schema), seconds_of("remind", remind)
        return waited(
            self._scope,
            ASK,
            prompt[:200],
            key,
            lambda call: ask(call, question, schema, timeout, every),
        )

    def send(
        self,
        task_id: str,
        message: object,
        *,
        id: str | None = None,  # noqa: A002  the word of `start`
        key: str = "",
    ) -> Coroutine[Any, Any, None]:
        """Send a message to a task of this store: a pydantic model, a dataclass, a plain value.

        In a step it is sent with the step's commit, or not at all. In `run` it is a step of its
        own, which is tried again for a while where a mailbox is full. Sent once: a replay, and
        another message with the same `id` to the same task, send nothing.

        Raises, in `run` as the StepFailed that carries it:
            TaskNotFound, TaskEnded: nobody will take it.
            MailboxFull: the task has not taken those before it.
            NotSerializable, PayloadTooLarge: it cannot be stored.
        """
        if self._scope.life.suspended:
            return self._scope.life.waits.refused()
        named("task_id", task_id)
        scope = self._scope.present()
        if id is not None and not named("id", id).isprintable():
            raise BadCall("id", id, "has control characters", 'id="order-7"')
        if scope.identity:
            return ride(scope, task_id, message, id)
        return scope.perform(SEND, (task_id, message, id), {}, key)

    def get(self, actor: type[A], server_id: str, /) -> Peer[A]:
        """A server: `await self.ctx.get(Chat, "42").ask(Chat.say, "hi")`. Raises BadCall."""
        return Peer(self._scope, actor, named("id", server_id))

    def emit(self, name: str, data: Any = None) -> None:
        """Add an event of your own to the task's log; `data` must be plain JSON."""
        if named("name", name).startswith(_OURS):
            raise BadCall("name", name, "this beginning is kept for everstep", "another name")
        encoded = ValueCodec.of(Any).encode(data, f"the event {name}", self._scope.life.limits)
        scope = self._scope.present()

        def append() -> bytes:
            scope.emit(name, encoded)
            return b"null"

        self._recorded(scope, "ctx.emit", append)

    def now(self) -> datetime:
        """The instant, in UTC. In `run` it is recorded."""
        scope = self._scope.present()
        life = scope.life
        text = self._recorded(scope, "ctx.now", lambda: b"%r" % life.clock.now())
        return datetime.fromtimestamp(float(text), UTC)

    def random(self) -> float:
        """A number from 0 up to 1, the same in every attempt and replay of this call."""
        return random.Random(self._drawn("random")).random()

    def uuid(self) -> UUID:
        """A random id, the same in every attempt and replay of this call."""
        return UUID(self._drawn("uuid"))

    if TYPE_CHECKING:

        def again(self) -> Never:
            """Return this from `run` to begin it anew on the present state, as a new chapter.

            `return self.ctx.again()` fits every return type, hence the annotation.
            """
            ...

    else:

        def again(self) -> Again:
            """Return this from `run` to begin it anew on the present state, as a new chapter."""
            return Again()

    # --- underneath -------------------------------------------------------------------

    @property
    def _seed(self) -> bytes:
        return self._scope.life.ledger.row.seed

    def message_id(self) -> str:
        """The id of the next message that is sent from here: the same in every attempt."""
        return self._drawn("message")

    def _drawn(self, verb: str) -> str:
        scope = self._scope.present()
        number = scope.number(f"ctx.{verb}", "")
        return stable_id(self._seed, verb, scope.prefix, str(number))

    def _recorded(self, scope: Scope, verb: str, answer: Callable[[], bytes]) -> bytes:
        """In a step: the answer. In `run`: the recorded one, or a new one that is recorded."""
        if scope.identity:
            return answer()
        life = scope.life
        call = scope.make_call(verb_of(verb), (), {})
        row = life.take(call)
        if row is not None and row.output is not None:
            return row.output
        life.go_live()
        output, now, ledger = answer(), life.clock.now(), life.ledger
        progress = ledger.progress
        row = rows.first(call, ledger.row.key, progress.chapter, life.schema.version, 0, now)
        ledger.step(rows.recorded(row, ledger.next_seq(), output, now), len(output))
        return output
