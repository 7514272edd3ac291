"""Which lives stand still: all their asyncio tasks stand in durable waits, or wait for such.

Nobody tells when an asyncio task begins or blocks, so they are looked at: all of the loop at once,
for all lives that have asked.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Collection, Iterable, Iterator
from contextvars import Context
from types import CoroutineType, FrameType, GeneratorType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from ..storage.clock import Clock, Timer
from .current import CURRENT
from .foreign import is_kind
from .leash import Leash
from .verdicts import Ended

if TYPE_CHECKING:
    from .scope import Scope

__all__ = ["STILL", "UNSEEN", "Look", "Lookout", "may_end_unheard", "unheard"]

AnyTask = asyncio.Task[Any]

_FEW = 256
"""As many asyncio tasks are looked at for each that asks; where there are more, one look waits for
others that ask."""
_TOGETHER = 0.05
_TURNS = 10
"""Turns of the loop between two looks, both of which must find a life still: in so many, word of a
task that has ended has come to those who wait for it."""
_AGAIN = 1.0
"""Seconds after which those who were found busy are looked at again."""
_ANYIO = "anyio._backends._asyncio"


class Look(NamedTuple):
    """What was seen of one life."""

    still: bool
    tasks: tuple[AnyTask, ...]
    """All asyncio tasks that run code of `run`."""
    held: tuple[AnyTask, ...]
    """Those that wait at a lock, an event or a queue, and so are woken by no wait that ends."""


UNSEEN = Look(still=False, tasks=(), held=())
STILL = Look(still=True, tasks=(), held=())


class Standing(Protocol):
    """A life, as the lookout sees it."""

    @property
    def root(self) -> Scope: ...

    @property
    def may_rest(self) -> bool:
        """Whether, as far as it knows, nothing but durable waits of it is under way."""
        ...

    @property
    def standing(self) -> Collection[AnyTask]:
        """The asyncio tasks that stand in a durable wait."""
        ...

    @property
    def moves(self) -> int:
        """How often something of it began, ended or called us."""
        ...

    def looked(self, look: Look) -> None:
        """Told once for each time it asked, and again while it is not still."""
        ...


class Lookout:
    """Looks at the asyncio tasks of the running loop, as seldom as will do."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asking: dict[Standing, None] = {}
        self._sure: dict[Standing, int] = {}
        self._busy: dict[Standing, None] = {}
        self._timer: Timer | asyncio.Handle | None = None
        self._again: Timer | None = None
        self._crowd = 0

    def ask(self, life: Standing) -> None:
        """Have `life.looked` called soon."""
        self._asking[life] = None
        if self._timer is None:
            if self._crowd <= _FEW:
                self._timer = asyncio.get_running_loop().call_soon(self._look)
            else:
                self._timer = self._clock.call_later(_TOGETHER, self._look)

    def forget(self, life: Standing) -> None:
        """Nothing more is to be told to it."""
        self._asking.pop(life, None)
        self._sure.pop(life, None)
        self._busy.pop(life, None)
        if not self._busy and self._again is not None:
            self._again.cancel()
            self._again = None

    def _look(self) -> None:
        self._timer = None
        asking, self._asking = self._asking, {}
        for life, look in self._looks(asking):
            if look.still:
                if not self._sure:
                    self._pass(_TURNS)
                self._sure[life] = life.moves
            else:
                self._found_busy(life, look)

    def _pass(self, turns: int) -> None:
        """Look at those who seemed still again after so many turns of the loop."""
        loop = asyncio.get_running_loop()
        if turns:
            loop.call_soon(self._pass, turns - 1)
            return
        sure, self._sure = self._sure, {}
        for life, look in self._looks(sure):
            if look.still and life.moves == sure[life]:
                self._busy.pop(life, None)
                life.looked(look)
            elif look.still:
                self.ask(life)
            else:
                self._found_busy(life, look)

    def _looks(self, lives: Collection[Standing]) -> Iterator[tuple[Standing, Look]]:
        roots = {life.root for life in lives if life.may_rest}
        found: dict[Scope, list[AnyTask]] = {}
        if roots:
            tasks = asyncio.all_tasks()
            self._crowd = len(tasks)
            found = _by_scope(tasks, roots)
        for life in lives:
            yield life, _seen(found.get(life.root, []), life.standing)

    def _found_busy(self, life: Standing, look: Look) -> None:
        self._busy[life] = None
        life.looked(look)
        if self._again is None:
            self._again = self._clock.call_later(_AGAIN, self._look_again)

    def _look_again(self) -> None:
        self._again = None
        busy, self._busy = self._busy, {}
        for life in busy:
            self.ask(life)


def _by_scope(tasks: Iterable[AnyTask], roots: Collection[Scope]) -> dict[Scope, list[AnyTask]]:
    """The tasks that run code of these scopes; what a step left behind is none of them."""
    found: dict[Scope, list[AnyTask]] = {}
    for task in tasks:
        context = _context_of(task)
        scope = None if context is None else context.get(CURRENT)
        if scope is not None and scope in roots:
            found.setdefault(scope, []).append(task)
    return found


def _context_of(task: AnyTask) -> Context | None:
    if sys.version_info >= (3, 12):
        return task.get_context()
    held = gc.get_referents(task)  # before 3.12 there is no other way to it
    return next((one for one in held if isinstance(one, Context)), None)


def _seen(tasks: list[AnyTask], standing: Collection[AnyTask]) -> Look:
    own = set(tasks)
    held: list[AnyTask] = []
    still = bool(tasks)
    for task in tasks:
        if task in standing:
            continue
        if _is_held(task):
            held.append(task)
        elif not _relays(task, own):
            still = False
    return Look(still, tuple(tasks), tuple(held))


def _waiter_of(task: AnyTask) -> asyncio.Future[Any] | None:
    """What a task awaits; None where it is about to run."""
    waiter = cast("asyncio.Future[Any] | None", getattr(task, "_fut_waiter", None))
    return None if waiter is None or waiter.done() else waiter


def _is_held(task: AnyTask) -> bool:
    """Whether a task waits at a lock, an event or a queue of asyncio or anyio."""
    if _waiter_of(task) is None:
        return False
    module, function = _place(task)
    return module in ("asyncio.locks", "asyncio.queues") or (module, function) == (
        _ANYIO,
        "acquire",
    )


def _relays(task: AnyTask, own: Collection[AnyTask]) -> bool:
    """Whether a task waits for nothing but other tasks of its life."""
    waiter = _waiter_of(task)
    if waiter is None:
        return False
    if _is_own(waiter, own):
        return True
    module, function = _place(task)
    if module == "asyncio.tasks":
        return function != "sleep"
    return module == "asyncio.taskgroups" or (module, function) == (_ANYIO, "__aexit__")


def _is_own(waiter: asyncio.Future[Any], own: Collection[AnyTask]) -> bool:
    """Whether a future is a task of the life, or a gathering of such."""
    if waiter in own:
        return True
    children = cast("list[asyncio.Future[Any]] | None", getattr(waiter, "_children", None))
    return bool(children) and all(child.done() or _is_own(child, own) for child in children or ())


def _place(task: AnyTask) -> tuple[str, str]:
    """Module and function of the innermost frame in which a task waits."""
    frame: FrameType | None = None
    awaited: Any = task.get_coro()
    while awaited is not None:
        kind = type(cast("object", awaited))
        if kind is Leash:
            awaited = awaited.inner
        elif kind is CoroutineType:
            frame, awaited = awaited.cr_frame, awaited.cr_await
        elif kind is GeneratorType:
            frame, awaited = awaited.gi_frame, awaited.gi_yieldfrom
        else:
            break
    if frame is None:
        return "", ""
    return str(frame.f_globals.get("__name__", "")), frame.f_code.co_name


def unheard(task: AnyTask) -> None:
    """Nobody needs to be told that a task of a life that left memory has ended by that."""
    if not task.cancelled():
        task.exception()


def may_end_unheard() -> None:
    """The asyncio task that runs here may end by `Ended`, as its life does, and nobody await it."""
    task = asyncio.current_task()
    if task is not None:
        task.add_done_callback(_ended_unheard)


def _ended_unheard(task: AnyTask) -> None:
    if is_kind(getattr(task, "_exception", None), Ended):  # what is asked for counts as heard
        task.exception()
