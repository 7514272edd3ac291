"""User code on a leash: past its deadline it is never resumed again, whatever it swallows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from ..storage.clock import Clock, Timer
from .foreign import is_kind, origins

__all__ = ["Leash", "Severed", "Watch"]

T_co = TypeVar("T_co", covariant=True)


_HELD = 1.0
"""Seconds after which a time limit that is held looks again."""


class Severed(BaseException):
    """Raised to us, not to user code, in place of resuming a coroutine whose leash was cut."""


class Leash(Coroutine[Any, Any, T_co]):
    """A coroutine that can be cut off.

    After `cut()` neither a value nor an exception reaches the inner coroutine: whoever awaits
    gets `Severed`. The inner coroutine stays as it is, its `finally` does not run, and what it
    holds stays held; so it must be kept referenced (`inner`), or its `finally` would run when it
    is collected.
    """

    __slots__ = ("_asked", "_steady", "_task", "inner", "is_closed", "is_cut", "ours")

    def __init__(
        self, inner: Coroutine[Any, Any, T_co], task: asyncio.Task[Any] | None = None
    ) -> None:
        """With the `task` that awaits it, it tells which cancellations of that others asked for."""
        self.inner = inner
        self.is_cut = False
        self.is_closed = False
        """It was closed from outside, as an abandoned coroutine is."""
        self.ours = 0
        """Cancellations that the runtime asked for, of those that the task counts."""
        self._task = task
        self._steady = 0 if task is None else task.cancelling()
        self._asked: tuple[BaseException, ...] = ()

    def cut(self) -> None:
        self.is_cut = True

    def send(self, value: Any = None, /) -> Any:
        if self.is_cut:
            raise Severed
        if self._task is not None:
            self._steady = self._task.cancelling() - self.ours
        return self.inner.send(value)

    def throw(
        self,
        kind: Any,
        value: BaseException | object = None,
        traceback: TracebackType | None = None,
        /,
    ) -> Any:
        if self.is_cut:
            raise Severed
        error = value if isinstance(value, BaseException) else kind
        if is_kind(error, asyncio.CancelledError) and self._task is not None:
            requests = self._task.cancelling() - self.ours
            if requests > self._steady:
                self._asked += (error,)
            self._steady = requests
        answer = self.inner.throw(error)
        if self._task is not None:  # a time limit in the code may have taken its request back
            self._steady = min(self._steady, self._task.cancelling() - self.ours)
        return answer

    def was_asked(self, error: BaseException | None) -> bool:
        """Whether what came out is a cancellation that somebody else than the runtime asked for.

        The task's count of requests alone does not tell: a TaskGroup of Python before 3.13 leaves
        one behind. So a cancellation counts if it was thrown in from outside and the count had
        risen since the code ran last.
        """
        if error is None or not is_kind(error, asyncio.CancelledError):
            return False
        return any(one is asked for one in origins(error) for asked in self._asked)

    def close(self) -> None:
        self.is_closed = True
        if not self.is_cut:
            self.inner.close()

    def __await__(self) -> Any:
        return self  # has all that `await` asks of a generator

    def __iter__(self) -> Leash[T_co]:
        return self

    __next__ = send


class Watch:
    """Ends one piece of user code in time: cancels it, and after `cleanup` seconds cuts it off.

    Works on the asyncio task that awaits the leash. `settle()` must be called when the leash has
    ended; it takes back the cancellations that were ours, so that only those of others remain.
    """

    __slots__ = ("_cancels", "_cleanup", "_clock", "_held", "_leash", "_task", "_timers", "cause")

    def __init__(
        self,
        clock: Clock,
        task: asyncio.Task[Any],
        leash: Leash[Any],
        cleanup: float,
        held: Callable[[], bool] | None = None,
    ) -> None:
        """While `held()`, time limits do not run out: it is asked when one would."""
        self.cause: BaseException | None = None
        self._clock = clock
        self._task = task
        self._leash = leash
        self._cleanup = cleanup
        self._held = held
        self._cancels = 0
        self._timers: dict[str, Timer] = {}

    def after(self, name: str, delay: float, cause: Callable[[], BaseException]) -> None:
        """End the code with `cause()` after `delay` seconds; replaces an earlier `name`."""
        earlier = self._timers.get(name)
        if earlier is not None:
            earlier.cancel()
        self._timers[name] = self._clock.call_later(delay, lambda: self._ran_out(name, cause))

    def _ran_out(self, name: str, cause: Callable[[], BaseException]) -> None:
        if self._held is not None and self._held():
            self.after(name, _HELD, cause)
        else:
            self.end(cause())

    def end(self, cause: BaseException) -> None:
        """Cancel the code now. The first cause stands."""
        if self.cause is None:
            self._cancel()
            self.expect_end(cause)

    def expect_end(self, cause: BaseException) -> None:
        """The code ends by itself; it is cut off where it does not in its time for cleaning up."""
        self.cause = cause
        self._disarm()
        self._timers["cut"] = self._clock.call_later(self._cleanup, self.cut)

    def cancel(self) -> None:
        """Cancel the code once, and take that back when it has ended."""
        self._cancel()

    def is_of(self, task: asyncio.Task[Any]) -> bool:
        """Whether it is this asyncio task that awaits the code."""
        return self._task is task

    def cut(self) -> None:
        """Never resume the code again; wake whoever awaits it."""
        if not self._leash.is_cut:
            self._leash.cut()
            self._cancel()

    def settle(self) -> None:
        self._disarm()
        for _ in range(self._cancels):
            self._task.uncancel()
        self._cancels = 0

    def _cancel(self) -> None:
        self._cancels += 1
        self._leash.ours += 1
        self._task.cancel()

    def _disarm(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
