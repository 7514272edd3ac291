"""Code that blocks the loop until the watchdog has said so, and who listens to what it says."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

from everstep import Child, SupervisionEvent, Supervisor

AFTER = 0.05
"""Seconds after which the loop counts as blocked in these tests."""
PATIENCE = 60.0


class Heard(logging.Handler):
    """The warnings of the watchdog, as they come."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.warnings: list[str] = []
        self.first = threading.Event()
        self._more = threading.Condition()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "the event loop is blocked" in text:
            with self._more:
                self.warnings.append(text)
                self._more.notify_all()
            self.first.set()

    def wait(self, warnings: int = 1) -> None:
        """Block this thread until there are so many more of them."""
        enough = len(self.warnings) + warnings
        with self._more:
            assert self._more.wait_for(lambda: len(self.warnings) >= enough, PATIENCE)


@contextmanager
def hearing() -> Generator[Heard, None, None]:
    """Hear what the watchdog says. The collector, whose pauses block the loop too, is off."""
    heard = Heard()
    gc.disable()
    logger = logging.getLogger("everstep")
    logger.addHandler(heard)
    try:
        yield heard
    finally:
        logger.removeHandler(heard)
        gc.enable()


class Ear:
    """Waits for the event that the loop was blocked."""

    def __init__(self) -> None:
        self.events: list[SupervisionEvent] = []
        self._news = asyncio.Event()

    def __call__(self, event: SupervisionEvent) -> None:
        if event.kind == "loop_blocked":
            self.events.append(event)
            self._news.set()

    async def blocked(self, times: int = 1) -> SupervisionEvent:
        while len(self.events) < times:
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), PATIENCE)
        return self.events[-1]


def service(
    start: Callable[..., Coroutine[Any, Any, None]], *args: object, name: str = "poller"
) -> Supervisor:
    child = Child(start, id=name, args=args, restart="temporary")
    return Supervisor("root", children=[Supervisor("web", children=[child])])


async def poll(heard: Heard) -> None:
    heard.first.wait(PATIENCE)  # blocks the loop


def watchdogs() -> list[threading.Thread]:
    """The threads that watch loops of this process."""
    return [thread for thread in threading.enumerate() if thread.name == "everstep watchdog"]


def place_of(code: object, text: str) -> str:
    """File, line and function of the one line of a function's source that contains `text`."""
    assert inspect.isfunction(code)
    lines, first = inspect.getsourcelines(code)
    (found,) = [number for number, line in enumerate(lines, first) if text in line]
    return f"{inspect.getsourcefile(code)}:{found} in {code.__name__}"
