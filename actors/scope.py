"""Where steps are called from: `run`, or an attempt of the step above.

A scope numbers the calls made in it, stands for the state as its code sees it, and knows which
recorded changes its view already shows. It is what ties a view to its incarnation.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Coroutine
from typing import TYPE_CHECKING, Any

from ..storage.errors import StaleAttempt
from ..storage.records import StepRow
from .called import Called, Caller, Traces, Unkeyed, present_caller
from .ctx import Ctx
from .current import CURRENT
from .errors import AmbiguousStep, BadCall, StateUnreadable, checked_text
from .halting import halt_from_any_thread
from .identity import identity_of
from .luggage import Luggage
from .schema import split, split_items
from .state import place

if TYPE_CHECKING:
    from .actor import Actor
    from .definition import StepDefinition
    from .errand import Errand
    from .incarnation import Incarnation
    from .late import RunningCall
    from .schema import Frame
    from .streaming import Stream

__all__ = ["CURRENT", "Call", "Scope"]

_FIRST = threading.Lock()
"""Two threads of one step may be the first to use something of its attempt."""


class Call:
    """One call of a step: what is executed, under which identity, on which state."""

    __slots__ = (
        "args",
        "caller",
        "definition",
        "digest",
        "errand",
        "frame",
        "identity",
        "key",
        "kwargs",
        "occurrence",
        "preview",
        "scope",
        "unkeyed",
    )

    def __init__(
        self,
        scope: Scope,
        definition: StepDefinition,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        key: str,
        occurrence: int,
        frame: Frame,
        caller: Caller,
        unkeyed: Unkeyed | None = None,
    ) -> None:
        self.scope = scope
        self.definition = definition
        self.args = args
        self.kwargs = kwargs
        self.key = checked_text("key", key) if key else key
        self.occurrence = occurrence
        self.identity = identity_of(scope.prefix, definition.name, key, occurrence)
        self.digest, self.preview = definition.digest_of(args, kwargs)
        self.frame = frame
        self.caller = caller
        self.unkeyed = unkeyed
        """What is known of others like it, where it has no key."""
        self.errand: Errand | None = None
        """The message that it handles, taken with the outcome."""

    def takes_off(self) -> None:
        """It has begun."""
        if self.unkeyed is not None:
            self.unkeyed.flights.append(self.caller)

    def has_landed(self) -> None:
        """It has ended."""
        if self.unkeyed is not None:
            self.unkeyed.flights.remove(self.caller)

    def is_within(self, scope: Scope) -> bool:
        """Whether it was made in `scope`, or in an attempt of a step that was called there."""
        outer: Scope | None = self.scope
        while outer is not None and outer is not scope:
            outer = outer.outer
        return outer is scope

    def goes_on_as(self, identity: str) -> None:
        """Be the call of this identity, which was made before the step had a key."""
        self.identity = identity
        self.scope.traces.nested.add(identity)


class Scope:
    """The anchor of one view. Ends once; after that every use of it raises StaleAttempt."""

    __slots__ = (
        "_called",
        "_placed",
        "_traces",
        "calls",
        "ended",
        "halted",
        "identity",
        "life",
        "luggage",
        "prefix",
        "view",
    )

    view: Actor

    def __init__(self, life: Incarnation, identity: str, prefix: str) -> None:
        self.life = life
        self.identity = identity
        """Identity of the step whose attempt this is; empty for `run`."""
        self.prefix = prefix
        self.ended = False
        self.halted = False
        """A call made in it, or below it, halted the task."""
        self.calls = 0
        """How many steps and verbs were called so far."""
        self.luggage: Luggage | None = None
        """What rides with the checkpoint, when this is an attempt."""
        self._called: Called | None = None
        self._traces: Traces | None = None
        self._placed: dict[str, int] | None = None
        """The number of the newest checkpoint that the view shows, by field."""

    @property
    def called(self) -> Called:
        """What is known of what was called in it."""
        called = self._called
        if called is None:
            with _FIRST:
                called = self._called = self._called or Called()
        return called

    @property
    def traces(self) -> Traces:
        """What its calls have left."""
        traces = self._traces
        if traces is None:
            with _FIRST:
                traces = self._traces = self._traces or Traces()
        return traces

    @property
    def running_calls(self) -> Collection[RunningCall]:
        """Calls of effects that are under way in it."""
        return () if self._traces is None else tuple(self._traces.running)

    @property
    def nested(self) -> Collection[str]:
        """Identities of steps called in it that are finished."""
        return () if self._traces is None else self._traces.nested

    def packs(self) -> Luggage:
        """What rides with the checkpoint, to add something to it."""
        luggage = self.luggage
        if luggage is None:
            with _FIRST:
                luggage = self.luggage = self.luggage or Luggage()
        return luggage

    @property
    def ctx(self) -> Ctx:
        return Ctx(self)

    @property
    def serial(self) -> int:
        """Number of the attempt; 0 for `run`."""
        return 0

    @property
    def attempt(self) -> int:
        """Which attempt of its budget this is, from 1."""
        return 1

    @property
    def errand(self) -> Errand | None:
        """The message that is handled in it, if one is."""
        return None

    def beat(self) -> None:
        """A sign of life of what runs in this scope."""

    def emit(self, name: str, data: bytes) -> None:
        """Put an event of the user's on the log, with the commit that is due next."""
        self.life.ledger.event_bytes(name, self.identity or None, data)

    def stream(self, name: str) -> Stream:
        """Where pieces are written. Raises BadCall in `run`, whose code a replay runs again."""
        why = "is written in `run`, which starts again from its top after a death"
        raise BadCall("stream", name, why, "a step that writes it")

    def sent_to(self, key: int) -> int:
        """How many messages to a task ride with the checkpoint so far."""
        return sum(message.task == key for message in self.packs().sends)

    # --- calling ----------------------------------------------------------------------

    def call(
        self, definition: StepDefinition, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Coroutine[Any, Any, Any]:
        """Number the call now; the coroutine executes it, or returns what it returned before."""
        if self.life.suspended:
            return self.life.waits.refused()
        scope = self.present()
        return scope.life.perform(scope.make_call(definition, args, kwargs))

    def perform(
        self,
        definition: StepDefinition,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        key: str | None,
    ) -> Coroutine[Any, Any, Any]:
        """As `call`, in this very scope; with a key of the caller's, if one is given."""
        return self.life.perform(self.make_call(definition, args, kwargs, key))

    def present(self) -> Scope:
        """The scope whose code runs now: this one, or that of a step of the same life within it.

        Raises:
            StaleAttempt: its attempt has ended.
            EverstepError: the life takes no more calls, and why.
        """
        current = CURRENT.get()
        scope = self if current is None or current.life is not self.life else current
        if scope.ended:
            scope.check_open()
        self.life.check()
        return scope

    def unreadable(self, error: StateUnreadable) -> BaseException:
        """Halt the task, as its code has come to state that does not load; what to raise.

        May be called from any thread of its code. Raises StaleAttempt where that has ended.
        """
        current = CURRENT.get()
        scope = self if current is None or current.life is not self.life else current
        scope.check_open()
        self.life.check_fenced()
        return halt_from_any_thread(scope, error)

    def halts(self) -> None:
        """Mark this scope and those above it: whatever their code makes of it, they are cut."""
        outer: Scope | None = self
        while outer is not None:
            outer.halted, outer = True, outer.outer

    def cut_off(self) -> None:
        """Its code is never resumed again: neither are the calls of effects that it awaited."""
        for call in self.running_calls:
            call.cut_off()

    def check_open(self) -> None:
        """Raise StaleAttempt if the code of this scope has ended."""
        if self.ended:
            raise StaleAttempt(self.life.task_id, f"{self.identity or 'run'} has ended")

    @property
    def outer(self) -> Scope | None:
        """The scope from which this one was called; None for that of `run`."""
        return None

    def make_call(
        self,
        definition: StepDefinition,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        key: str | None = None,
    ) -> Call:
        """Give the call its number and its view of the state, as they are at this moment."""
        if key is None:
            key = definition.key_of(args, kwargs)
        caller = unkeyed = None
        if not key:
            caller = present_caller()
            unkeyed = self._unkeyed(definition, caller)
        self.life.sync(self)
        occurrence = self.number(definition.name, key)
        frame = self.view.__everstep__.frame
        return Call(self, definition, args, kwargs, key, occurrence, frame, caller, unkeyed)

    def number(self, name: str, key: str) -> int:
        """Count one more call of this name and key; which one it is, from 1."""
        self.calls += 1
        return (self._called or self.called).number(name, key)

    def _unkeyed(self, definition: StepDefinition, caller: Caller) -> Unkeyed:
        """What is known of the calls without a key, of which this caller makes one."""
        unkeyed = (self._called or self.called).unkeyed(definition.name, caller)
        if unkeyed.flights and unkeyed.is_ambiguous(caller):
            raise AmbiguousStep(definition.name, definition.key_example())
        if unkeyed.caller is not caller and not unkeyed.calls_from(caller):
            self.life.journal.note_unsure(definition.name)
        return unkeyed

    # --- replay by field --------------------------------------------------------------

    def show(self, row: StepRow) -> None:
        """Let the view show what a finished step changed, as far as no newer one has.

        Halts the task where that does not load.
        """
        seq = row.seq
        if seq is None or (row.changes is None and row.appends is None):
            return
        fields = split(row.changes)
        if fields and self._placed:
            placed = self._placed
            fields = {name: data for name, data in fields.items() if placed.get(name, 0) < seq}
        try:
            place(self.view, fields, split_items(row.appends), seq, row.identity)
        except StateUnreadable as error:
            raise self.unreadable(error) from error
        self.shows(fields, seq)

    def shows(self, fields: Any, seq: int) -> None:
        """The view already shows these fields as the checkpoint `seq` left them."""
        if fields:
            if self._placed is None:
                self._placed = {}
            for name in fields:
                self._placed[name] = seq

    def has_unheard(self, identity: str) -> None:
        """A failure is recorded of which the code of this scope has not heard."""
        self.traces.failures[identity] = None

    def hears_of(self, identity: str) -> None:
        """A recorded failure is about to be raised to the code of this scope."""
        self.traces.failures[identity] = self.calls

    def hears_nothing(self, identity: str) -> None:
        """The failure was taken back."""
        self.traces.failures.pop(identity, None)

    def forget(self, call: Call) -> None:
        """Keep nothing of a call that has ended and is never made again."""
        self.called.forget(call.definition.name, call.key)
        if self._traces is not None:
            self._traces.failures.pop(call.identity, None)
            self._traces.nested.discard(call.identity)

    def left_by(self, leaving: set[str]) -> set[str]:
        """Which failed steps and waits are begun anew when an exception leaves this scope.

        Those whose failure was found in it (`leaving`), those after which nothing more was
        called, and those of which its code has not heard.
        """
        failures = {} if self._traces is None else self._traces.failures
        last = {name for name, calls in failures.items() if calls in (None, self.calls)}
        return last | (leaving & failures.keys())
