"""What happens in a tree, as frozen records for whoever listens."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from weakref import WeakSet

from ...actors.foreign import exc_info_of, is_kind, log_error, read
from ...storage.record import record
from ..errors import RestartLimitExceeded
from .messages import EventKind

__all__ = ["EventStream", "Hub", "SupervisionEvent"]

_LOG = logging.getLogger("everstep")
_MOST_KEPT = 10_000


@record
class SupervisionEvent:
    """One thing that happened to a supervisor or to one of its children."""

    kind: EventKind
    at: float
    """UTC, in seconds since 1970."""
    supervisor: str
    """The names from the root down, joined by `/`."""
    child: str
    """The id of the child; empty where the event is about the supervisor."""
    incarnation: int
    reason: str
    """How it ended, in words, or what the warning says."""
    error: BaseException | None
    delay: float | None
    """Seconds until the restart, where one is scheduled."""
    expected: bool
    """False for what OTP reports as an error: exits of permanent children, crashes, late ends."""

    def __str__(self) -> str:
        who = f"{self.supervisor}/{self.child}" if self.child else self.supervisor
        parts = [self.kind, who, f"#{self.incarnation}" if self.incarnation else "", self.reason]
        after = f"in {self.delay:g} s" if self.delay else ""
        return " ".join(filter(None, [*parts, after]))


class EventStream:
    """The events of a supervisor and all below it, from the moment it was asked for.

    Ends when the supervisor has ended. Who does not read for so long that more than 10,000 events
    wait loses the oldest; `missed` counts them.
    """

    def __init__(self, path: str) -> None:
        self.missed = 0
        self._path = path
        self._events: deque[SupervisionEvent] = deque()
        self._closed = False
        self._news: asyncio.Future[None] | None = None

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> SupervisionEvent:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        return self._events.popleft()

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        """Hear no more; what waits can still be read."""
        self._closed = True
        self._wake()

    def put(self, event: SupervisionEvent) -> None:
        if self._closed or not _within(event.supervisor, self._path):
            return
        self._events.append(event)
        if len(self._events) > _MOST_KEPT:
            self._events.popleft()
            self.missed += 1
        if event.kind == "supervisor_ended" and event.supervisor == self._path:
            self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


class Hub:
    """Hands each event to those who listen, and to the log what an operator should know."""

    def __init__(self, on_event: Callable[[SupervisionEvent], object] | None) -> None:
        self._on_event = on_event
        self._streams: WeakSet[EventStream] = WeakSet()

    def stream(self, path: str) -> EventStream:
        stream = EventStream(path)
        self._streams.add(stream)
        return stream

    def put(self, event: SupervisionEvent) -> None:
        if not event.expected or event.kind == "storm_ended":
            level = logging.ERROR if _grave(event) else logging.WARNING
            if _LOG.isEnabledFor(level):
                _LOG.log(level, "%s", event, exc_info=exc_info_of(_untold(event)))
        for stream in list(self._streams):
            stream.put(event)
        listener = self._on_event
        if listener is not None:  # who listens must not break what runs
            read(lambda: listener(event), lambda broken: log_error(broken, "on_event failed"))


def _grave(event: SupervisionEvent) -> bool:
    return event.kind in ("limit_reached", "child_late", "storm_began")


def _untold(event: SupervisionEvent) -> BaseException | None:
    """The error whose traceback belongs into the log; that of a limit was told by each crash."""
    told = event.kind not in ("child_exited", "start_error", "shutdown_error")
    return None if told or is_kind(event.error, RestartLimitExceeded) else event.error


def _within(path: str, above: str) -> bool:
    return path == above or path.startswith(f"{above}/")
