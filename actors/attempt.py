"""One execution of a step: its own view of the state, on a leash, within its time."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from contextvars import Token
from functools import partial
from typing import Any

from ..storage.records import StepRow
from .definition import HandlerOptions
from .errand import Errand
from .errors import HeartbeatMissed, ReadonlyChanged, StepTimeout
from .identity import inside
from .leash import Leash, Severed, Watch
from .scope import CURRENT, Call, Scope
from .state import NOTHING, Changes, close_view, collect, open_view, total
from .streaming import Stream

__all__ = ["Attempt"]


class Attempt(Scope):
    """The scope of the step's code while it is executed once.

    `execute()` runs the code in the present asyncio task. `end()` makes its view refuse further
    use, from threads that go on too.
    """

    __slots__ = (
        "_closed",
        "call_made",
        "is_let_go",
        "leash",
        "row",
        "task",
        "watch",
    )

    def __init__(self, call: Call, row: StepRow, task: asyncio.Task[Any]) -> None:
        """`task` is the present one, which is to await `execute()`."""
        super().__init__(call.scope.life, call.identity, inside(call.identity))
        self.call_made = call
        self._closed = False
        self.is_let_go = False
        """Its end is on the ledger, though it has not landed."""
        self.row = row
        """The step's row as this attempt began."""
        self.leash: Leash[Any] | None = None
        self.task = task
        self.watch: Watch | None = None
        life = self.life
        self.view = open_view(life.schema, call.frame, self, family=life.root.view)

    @property
    def serial(self) -> int:
        return self.row.serial

    @property
    def attempt(self) -> int:
        return self.row.attempts + 1

    @property
    def cause(self) -> BaseException | None:
        """Why the runtime ended this attempt, if it did."""
        return None if self.watch is None else self.watch.cause

    async def execute(self) -> Any:
        """Run the code and return what it returned. Raises what it raised, or Severed."""
        token = CURRENT.set(self)
        try:
            self.leash = Leash(self._coroutine(), self.task)
            self.life.journal.traffic.took_off(self)
            definition = self.call_made.definition
            if definition.options.limited and not definition.sync:
                self._arm()  # in a thread, time begins when there is one
            return await self.leash
        except Severed:
            self.cut_off()
            if self.leash is not None:
                self.life.environment.severed.append(self.leash.inner)
            raise
        finally:
            self._disarm(token)

    def end_with(self, cause: BaseException) -> None:
        """Cancel the code for `cause`; it is cut off after its time for cleaning up."""
        watch = self.watch or self._watch()
        if watch is not None:
            watch.end(cause)

    def cut(self) -> None:
        """Never resume the code again."""
        watch = self.watch or self._watch()
        if watch is not None:
            watch.cut()

    def beat(self) -> None:
        """A sign of life. May be called from the step's thread."""
        if self.call_made.definition.options.heartbeat is not None:
            self.task.get_loop().call_soon_threadsafe(self._heard)

    def emit(self, name: str, data: bytes) -> None:
        self.packs().emitted.append((name, data))

    def stream(self, name: str) -> Stream:
        streams = self.packs().streams
        stream = streams.get(name)
        if stream is None:
            stream = streams[name] = Stream(self, name, self.task.get_loop())
        return stream

    def _streams(self) -> Collection[Stream]:
        return () if self.luggage is None else self.luggage.streams.values()

    def flush(self) -> None:
        """Hand to the store what was written to streams until now."""
        for stream in self._streams():
            stream.flush()

    def _heard(self) -> None:
        heartbeat = self.call_made.definition.options.heartbeat
        if heartbeat is not None and self.watch is not None and not self.ended:
            cause = partial(HeartbeatMissed, self.identity, heartbeat)
            self.watch.after("heartbeat", heartbeat, cause)

    def changes(self) -> Changes:
        """All that the attempt changed, by itself and through steps it called.

        Raises ReadonlyChanged where it must not have.
        """
        life = self.life
        if life.environment.debug:
            life.check_logs(self)
        if self._traces is not None and self.nested:
            base = self.call_made.frame
            found = total(self.view, base, owner=self.identity, limits=life.limits)
        else:
            found = collect(self.view, owner=self.identity, limits=life.limits)
        options = self.call_made.definition.options
        if found is not NOTHING and isinstance(options, HandlerOptions) and options.readonly:
            raise ReadonlyChanged(self.identity, (*found.fields, *found.appends))
        return found

    def end(self) -> None:
        """Nothing of this attempt is listened to any more. May be called twice.

        What it wrote to streams until now goes to the store with what is written next, or alone.
        """
        self.ended = True
        if not self._closed:
            self._closed = True
            if self.luggage is not None:
                for stream in self._streams():
                    stream.close()
            close_view(self.view, self.life.task_id)

    @property
    def errand(self) -> Errand | None:
        return self.call_made.errand or self.outer.errand

    @property
    def outer(self) -> Scope:
        return self.call_made.scope

    def _coroutine(self) -> Coroutine[Any, Any, Any]:
        call = self.call_made
        definition = call.definition
        args = (self.view, *call.args) if definition.method else call.args
        if definition.sync:
            function = partial(definition.function, *args, **call.kwargs)
            began = self._arm if definition.options.limited else None
            return self.life.environment.threads.run(function, began)
        coroutine: Coroutine[Any, Any, Any] = definition.function(*args, **call.kwargs)
        return coroutine

    def _arm(self) -> None:
        options = self.call_made.definition.options
        if self not in self.life.journal.traffic.attempts:
            return
        watch = self.watch or self._watch()
        if watch is None or watch.cause is not None:
            return
        if options.timeout is not None:
            cause = partial(StepTimeout, self.identity, options.timeout)
            watch.after("timeout", options.timeout, cause)
        self._heard()

    def _watch(self) -> Watch | None:
        if self.leash is None:
            return None
        environment = self.life.environment
        store = environment.store
        self.watch = Watch(
            environment.clock,
            self.task,
            self.leash,
            environment.cleanup,
            held=lambda: store.trouble is not None,
        )
        return self.watch

    def _disarm(self, token: Token[Scope | None]) -> None:
        if self.watch is not None:
            self.watch.settle()
        self.life.journal.traffic.landed(self)
        try:
            CURRENT.reset(token)
        except ValueError:  # closed from another context: nothing to restore
            return
