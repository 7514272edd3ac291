"""`everstep.run`: like `asyncio.run`, for a program that is stopped by signals."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar

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
    with asyncio.Runner(debug=debug) as runner:
        stopper = _Stopper(runner.get_loop())
        with stopper:
            try:
                return runner.run(stopper.watch(main))
            except (asyncio.CancelledError, KeyboardInterrupt):
                stopper.explain()
                raise


class _Stopper:
    """Turns signals into a cancellation, then into an interrupt, then into the end."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._task: asyncio.Task[Any] | None = None
        self._signals: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._receive)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    async def watch(self, main: Coroutine[Any, Any, R]) -> R:
        self._task = asyncio.current_task()
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
        """Called in the main thread, between two instructions of whatever it is doing."""
        self._signals.append(number)
        if len(self._signals) == 1:
            self._loop.call_soon_threadsafe(self._cancel)
        elif len(self._signals) == 2:
            self._begin_last_resort(number)
            self._loop.call_soon_threadsafe(self._cancel)
        else:
            os._exit(128 + number)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _begin_last_resort(self, number: int) -> None:
        timer = threading.Timer(_LAST_RESORT, _end, [number])
        timer.daemon = True
        timer.start()


def _end(number: int) -> None:
    sys.stderr.write(f"everstep: not stopped {_LAST_RESORT:g} s after the second signal; ending\n")
    os._exit(128 + number)
