"""Plain functions in daemon threads of ours: they cannot be ended, only left behind."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from .foreign import is_kind, name_of

__all__ = ["Threads"]


class _Job:
    __slots__ = ("began", "context", "function", "future", "loop")

    def __init__(self, function: Callable[[], Any], began: Callable[[], None] | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.context = contextvars.copy_context()
        self.function = function
        self.began = began

    def run(self) -> None:
        if self.began is not None:
            self._tell(self.began)
        try:
            value = self.context.run(self.function)
        except BaseException as error:  # noqa: BLE001  (the boundary of user code)
            self._tell(self._fail, error)
        else:
            self._tell(self._finish, value)

    def _tell(self, how: Callable[..., None], *what: Any) -> None:
        try:
            self.loop.call_soon_threadsafe(how, *what)
        except RuntimeError:
            return  # the loop has ended before the thread: nobody is left to tell

    def _finish(self, value: Any) -> None:
        if not self.future.done():
            self.future.set_result(value)

    def _fail(self, error: BaseException) -> None:
        if self.future.done():
            return
        if is_kind(error, (StopIteration, GeneratorExit)):  # an `await` takes these for its own
            wrapped = RuntimeError(f"a step raised {name_of(error)}")
            wrapped.__cause__ = error
            error = wrapped
        self.future.set_exception(error)


class Threads:
    """A set of daemon threads that grows to what is asked at once, up to `most`.

    A function that is left behind (its caller was cancelled) keeps its thread until it returns;
    its result is dropped. The process never waits for these threads.
    """

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._lock = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._idle = 0
        self._count = 0
        self._closed = False

    def start(
        self, function: Callable[[], Any], began: Callable[[], None] | None = None
    ) -> asyncio.Future[Any]:
        """Run `function` in a thread, in a copy of the caller's context; a future of this loop.

        `began` is called on the loop when there was a thread for it.
        """
        job = _Job(function, began)
        job.future.add_done_callback(self._forget)
        with self._lock:
            self._jobs.append(job)
            if self._idle < len(self._jobs) and self._count < self._most:
                self._count += 1
                name = f"everstep-step-{self._count}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
            else:
                self._lock.notify()
        return job.future

    def withdraw(self, future: asyncio.Future[Any]) -> bool:
        """Take back a function that has not begun; False where it has, and goes on."""
        with self._lock:
            for job in self._jobs:
                if job.future is future:
                    self._jobs.remove(job)
                    return True
        return False

    def _forget(self, future: asyncio.Future[Any]) -> None:
        if future.cancelled():
            self.withdraw(future)

    async def run(
        self, function: Callable[[], Any], began: Callable[[], None] | None = None
    ) -> Any:
        """Await `function` in a thread, and what it returns on the loop if that is awaitable.

        Cancelled, a function that has begun is left to itself, and any other does not begin.
        """
        value = await self.start(function, began)
        return await value if inspect.isawaitable(value) else value

    def close(self) -> None:
        """Let idle threads end; busy ones end after what they are doing."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job.run()

    def _next(self) -> _Job | None:
        with self._lock:
            self._idle += 1
            try:
                while not self._jobs:
                    if self._closed:
                        self._count -= 1
                        return None
                    self._lock.wait()
                return self._jobs.popleft()
            finally:
                self._idle -= 1
