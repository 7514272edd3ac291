"""A thread that notices when code blocks the loop, and names whose code and which line.

It looks at the loop's thread a few times a second, and leaves an idle loop alone. Where two looks
in a row find it at work, one callback is sent, and the loop is blocked once that has waited for
`after` seconds while one and the same callback ran.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

from .culprit import Culprit, StepOf, culprit_on, running_on
from .services.messages import Tell
from .services.service import Service
from .services.spec import check_limit
from .services.world import World

__all__ = ["Blocked", "Watchdog", "check_blocked_after", "counted", "tell_blocked"]

_LOG = logging.getLogger("everstep")
_LOOKS = 5
"""How often it looks within `after` seconds."""
_LONGEST_LOOK = 1.0
_JOIN = 1.0
_LINES = 6


def check_blocked_after(value: object) -> None:
    """Raise BadCall unless it is a number of seconds, or None for no watchdog."""
    check_limit("blocked_after", value, zero=False)


class Blocked(NamedTuple):
    """The loop could do nothing else for `seconds`."""

    culprit: Culprit
    seconds: float

    def __str__(self) -> str:
        return f"for {self.seconds:.2f} s by {self.culprit.who} at {self.culprit.place}"


class Watchdog:
    """Watches a loop from `start` to `stop`, both called on it; one that was stopped stays so.

    While the loop is blocked the thread logs it, at growing intervals. Once the loop runs again,
    `told` is called on it, and a task that was to blame has the event `loop_blocked` put on its
    log, with its next commit. The thread never keeps the process alive, ends when the loop is
    closed, and is not there in a forked child. `after` None is no watchdog at all.
    """

    def __init__(self, after: float | None, told: Callable[[Blocked], None]) -> None:
        self._after = after
        self._told = told
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def start(self) -> None:
        if self._after is None:
            return
        watch = _Watch(self._after, self._told, asyncio.get_running_loop())
        self._thread = threading.Thread(
            target=watch.run, args=(self._stopped,), name="everstep watchdog", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for that, a second at most."""
        if self._thread is not None and self._process == os.getpid():
            self._stopped.set()
            self._thread.join(_JOIN)


class _Watch:
    """What the thread knows. `_answer` runs on the loop, all else in the thread."""

    def __init__(
        self, after: float, told: Callable[[Blocked], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._after = after
        self._told = told
        self._loop = loop
        self._target = threading.get_ident()
        self._interval = min(after / _LOOKS, _LONGEST_LOOK)
        self._pace = _Pace(self._interval)
        self._running: object = None
        """What ran at the last look."""
        self._at_work = 0
        """How many looks in a row found the loop at work, since its last answer."""
        self._seconds = 0.0
        """How long the callback that runs is known to have blocked the loop."""
        self._due = after
        """After how many of them it is logged, next time."""
        self._accused = False
        """Whether that callback is the last one of `_found`."""
        self._asked = False
        self._found: list[Blocked] = []
        """What is to be told when the loop answers."""
        self._lock = threading.Lock()

    def run(self, stopped: threading.Event) -> None:
        self._pace.begin()
        while not stopped.wait(self._interval) and not self._loop.is_closed():
            try:
                self._look()
            except RuntimeError:
                return  # the loop was closed in this very moment

    def _look(self) -> None:
        seconds = self._pace.step()
        running = running_on(self._target) if self._loop.is_running() else None
        held = seconds >= self._after  # the interpreter was held for so long by what runs now
        if not (self._asked and running is self._running):
            self._seconds, self._due, self._accused = 0.0, self._after, False
            seconds = seconds if held else 0.0
        self._running = running
        if running is None:
            self._at_work = 0
            return
        self._at_work += 1
        self._seconds += seconds
        if self._accused:
            self._lengthen(self._seconds)
        if self._seconds >= self._due:
            self._accuse()
        if not self._asked and (held or self._at_work > 1):
            self._ask()

    def _ask(self) -> None:
        self._asked = True
        self._loop.call_soon_threadsafe(self._answer)

    def _accuse(self) -> None:
        """Log who blocks the loop, unless it runs again by now."""
        culprit = culprit_on(self._target, self._loop)
        if culprit is None:
            self._seconds = 0.0
            return
        with self._lock:
            if self._at_work == 0:
                return
            if not self._accused:
                self._found.append(Blocked(culprit, self._seconds))
        self._accused, self._due = True, 2 * self._seconds
        blocked = Blocked(culprit, self._seconds)
        _LOG.warning("the event loop is blocked, so far %s\n%s", blocked, _shown(culprit))

    def _lengthen(self, seconds: float) -> None:
        with self._lock:
            if self._found:
                self._found[-1] = self._found[-1]._replace(seconds=seconds)

    def _answer(self) -> None:
        """The loop runs again."""
        if self._accused:
            self._lengthen(self._seconds + min(self._pace.since(), self._interval))
        with self._lock:
            found, self._found = self._found, []
            self._asked, self._at_work = False, 0
        for blocked in found:
            _tell(blocked, self._told)


def _tell(blocked: Blocked, told: Callable[[Blocked], None]) -> None:
    owner = blocked.culprit.owner
    if isinstance(owner, StepOf):
        data = {"seconds": round(blocked.seconds, 3), "place": blocked.culprit.place}
        owner.life.note("loop_blocked", owner.step or None, data)
    told(blocked)


def _shown(culprit: Culprit) -> str:
    """The innermost lines, as a traceback shows them."""
    lines = [(spot.file, spot.line, spot.function) for spot in culprit.stack[-_LINES:]]
    return "".join(traceback.format_list([traceback.FrameSummary(*line) for line in lines]))


def tell_blocked(world: World, root: str, blocked: Blocked) -> None:
    """Make `loop_blocked` known in a tree: of the service to blame, if it is one of this tree."""
    service = blocked.culprit.owner
    reason = f"the event loop was blocked {blocked}"
    if isinstance(service, Service) and f"{service.supervisor}/".startswith(f"{root}/"):
        told = Tell("loop_blocked", service.id, service.number, reason, expected=False)
        world.tell(service.supervisor, told)
    else:
        world.tell(root, Tell("loop_blocked", reason=reason, expected=False))


# --- what time counts ---------------------------------------------------------------------


def counted(slept: float, meant: float, burned: float, *, collected: bool) -> float:
    """How many seconds count of those that the thread slept, when it meant to sleep `meant`.

    Having overslept grossly it was stopped, with its process or its machine, and all but `meant`
    is nobody's fault; unless the loop's thread `burned` the time, so that it held the
    interpreter's lock, and that not to collect garbage (`collected`).
    """
    if slept <= 3 * meant or (burned >= slept / 2 and not collected):
        return slept
    return meant


class _Pace:
    """Measures what counts of the time between two looks. Made by the thread that is watched."""

    def __init__(self, meant: float) -> None:
        self._meant = meant
        self._clock = _cpu_clock()
        self.begin()

    def begin(self) -> None:
        self._at, self._burned, self._full = time.monotonic(), self._cpu(), _collections()

    def step(self) -> float:
        """Seconds since the last call, as far as they count."""
        at, burned, full = self._at, self._burned, self._full
        self.begin()
        return counted(
            self._at - at, self._meant, self._burned - burned, collected=self._full != full
        )

    def since(self) -> float:
        """Seconds since the last step, whether they count or not."""
        return time.monotonic() - self._at

    def _cpu(self) -> float:
        """CPU seconds of the watched thread; always 0 where the system does not tell."""
        try:
            return 0.0 if self._clock is None else time.clock_gettime(self._clock)
        except OSError:
            return 0.0  # that thread has ended


def _cpu_clock() -> int | None:
    if not hasattr(time, "pthread_getcpuclockid"):
        return None
    return time.pthread_getcpuclockid(threading.get_ident())


def _collections() -> int:
    """How many full collections of garbage there were."""
    return int(gc.get_stats()[-1]["collections"])
