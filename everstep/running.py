"""`everstep.run`: like `asyncio.run`, for a program that is stopped by signals."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from types import FrameType
from typing import Any, Self, TypeVar

__all__ = ["run"]

R = TypeVar("R")

_LAST_RESORT = 10.0
"""Seconds after the second signal in which the process ends, whatever it is doing."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(main: Coroutine[Any, Any, R], *, debug: bool | None = None) -> R:
    """Run `main` on a new event loop; SIGINT and SIGTERM end it in order.

    The first signal cancels `main`, so that each `async with Runtime(…)` in it gives its tasks
    back within its `grace`. The second one ends the grace; ten seconds later the process ends
    whatever it is doing, and with a third one at once. What was acknowledged is in the store.

    Returns what `main` returns. After SIGINT it raises KeyboardInterrupt, after SIGTERM
    SystemExit with the status 143, unless `main` returned all the same. Only in the main thread
    are signals handled.
    """
    with _Stopper() as stopper, asyncio.Runner(debug=debug) as runner:
        try:
            return runner.run(stopper.watch(main))
        except (asyncio.CancelledError, KeyboardInterrupt):
            stopper.explain()
            raise


class _Stopper:
    """Turns signals into a cancellation, then into an interrupt, then into the end."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._signals: list[int] = []
        self._last_resort: threading.Timer | None = None
        self._before: dict[int, Any] = {}
        self._process = os.getpid()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        if self._last_resort is not None:
            self._last_resort.cancel()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    async def watch(self, main: Coroutine[Any, Any, R]) -> R:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._signals:
            self._cancel()
        return await main

    def explain(self) -> None:
        """Raise what the first signal means to the caller, if there was one."""
        if not self._signals:
            return
        if self._signals[0] == signal.SIGTERM:
            raise SystemExit(128 + signal.SIGTERM) from None
        raise KeyboardInterrupt from None

    def _receive(self, number: int, frame: FrameType | None) -> None:
        """Called in the main thread, between two instructions of whatever it is doing.

        A process that was forked off inherits the handler, and not what it stands for.
        """
        if os.getpid() != self._process:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self._signals.append(number)
        if len(self._signals) > 2:
            os._exit(128 + number)
        if len(self._signals) == 2:
            self._last_resort = threading.Timer(_LAST_RESORT, _end, [number])
            self._last_resort.daemon = True
            self._last_resort.start()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


def _end(number: int) -> None:
    sys.stderr.write(f"everstep: not stopped {_LAST_RESORT:g} s after the second signal; ending\n")
    os._exit(128 + number)
