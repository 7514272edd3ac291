"""Whose code runs on a loop's thread just now, and at which line: read from its frames.

Called from another thread. What is returned holds no frame, so that nothing of the user's lives
longer for having been looked at.
"""

from __future__ import annotations

import asyncio
import sys
import sysconfig
import weakref
from collections.abc import Callable, Sequence
from contextvars import Context
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..actors.execution import perform
from ..actors.incarnation import Incarnation
from ..actors.scope import CURRENT
from .services.leftovers import owner_in
from .services.service import Service
from .services.shell import Shell

__all__ = ["UNKNOWN", "Culprit", "Spot", "StepOf", "blamed", "culprit_on", "running_on"]

UNKNOWN: object = object()
"""What runs cannot be told, nor whether the loop waits, as on a loop that is not asyncio's own."""

_DEBUGGERS = frozenset({"bdb", "debugpy", "pdb", "pydevd", "_pydevd_bundle"})
_LIBRARIES = tuple({f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib")})
_INSTALLED = ("/site-packages/", "/dist-packages/")


class Spot(NamedTuple):
    """A line that is being executed."""

    file: str
    line: int
    function: str
    module: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]

    @property
    def is_library(self) -> bool:
        """Whether it belongs to the standard library or to what was installed."""
        file = self.file.replace("\\", "/")
        return file.startswith(("<", *_LIBRARIES)) or any(place in file for place in _INSTALLED)


class StepOf(NamedTuple):
    """A step of a life of a task; of its `run`, between steps, where `step` is empty."""

    life: Incarnation
    step: str


Owner = StepOf | Service | Shell | None


class Culprit(NamedTuple):
    """Whose code it is, where it is, and the calls below that, the innermost last."""

    who: str
    place: str
    stack: tuple[Spot, ...]
    owner: Owner


def running_on(thread: int) -> object:
    """One object for as long as one callback runs there; None while the loop waits.

    UNKNOWN where neither can be told.
    """
    frame = sys._current_frames().get(thread)
    if _waits(frame):
        return None
    while frame is not None:
        if frame.f_code is _HANDLE:
            handle = frame.f_locals["self"]
            return UNKNOWN if handle is None else weakref.ref(handle)
        frame = frame.f_back
    return UNKNOWN


def culprit_on(thread: int, loop: asyncio.AbstractEventLoop) -> Culprit | None:
    """Whose code runs there; None where the loop waits after all, or a debugger has stopped it."""
    innermost = frame = sys._current_frames().get(thread)
    if innermost is None or _waits(frame):
        return None
    stack: list[Spot] = []
    while frame is not None and frame.f_code not in _OWNERS:
        stack.append(_spot(frame))
        frame = frame.f_back
    if not _DEBUGGERS.isdisjoint(spot.package for spot in stack):
        return None
    task = asyncio.current_task(loop)
    owner = (_OWNERS[frame.f_code](frame.f_locals) if frame else None) or _owner_of(task)
    users = [spot for spot in stack if spot.package != "everstep"] or stack or [_spot(innermost)]
    return Culprit(_name(owner, task), _place(users), tuple(reversed(users)), owner)


def blamed(stack: Sequence[Spot]) -> Spot:
    """The innermost line of the user's code, of lines with the innermost first.

    Where all of it is installed, the innermost line of the package that was entered first.
    """
    own = [spot for spot in stack if not spot.is_library]
    entered = [spot for spot in stack if spot.package == stack[-1].package]
    return (own or entered)[0]


def _place(stack: Sequence[Spot]) -> str:
    spot = blamed(stack)
    return str(spot) if spot is stack[0] else f"{spot}, which is in {stack[0]}"


def _spot(frame: FrameType) -> Spot:
    code = frame.f_code
    module = str(frame.f_globals.get("__name__", ""))
    return Spot(code.co_filename, frame.f_lineno or 0, code.co_name, module)


def _waits(frame: FrameType | None) -> bool:
    """Whether the loop waits in its selector; a selector within user code is no such place."""
    selects = False
    while frame is not None and frame.f_code.co_name == "select":
        selects, frame = True, frame.f_back
    return frame is None or (selects and frame.f_code.co_name == "_run_once")


def _name(owner: Owner, task: asyncio.Task[Any] | None) -> str:
    match owner:
        case StepOf(life, step):
            where = f"step {step}" if step else "its run, outside of steps"
            return f"task {life.task_id}, actor {life.ledger.row.actor}, {where}"
        case Service():
            return f"service {owner.supervisor}/{owner.id}"
        case Shell():
            return f"supervisor {owner.path}"
        case None:
            return "a callback" if task is None else f"the asyncio task {task.get_name()!r}"


# --- whose code it is ---------------------------------------------------------------------


def _owner_of(task: asyncio.Task[Any] | None) -> Owner:
    """By the context of an asyncio task, which can be read from Python 3.12 on."""
    if sys.version_info >= (3, 12) and task is not None:
        return _owner_in(task.get_context())
    return None


def _owner_in(context: Context) -> Owner:
    """Whoever started what runs in this context."""
    scope = context.get(CURRENT)
    if scope is not None:
        return StepOf(scope.life, scope.identity)
    owner = owner_in(context)
    return owner if isinstance(owner, Service) else None


def _owner_of_callback(handle: Any) -> Owner:
    return None if handle is None else _owner_in(handle._context)  # None just before it returns


_HANDLE = asyncio.Handle._run.__code__  # pyright: ignore[reportPrivateUsage]  # to know its frame
"""The frame of every callback of asyncio's own loops; it knows the context of the callback."""

_OWNERS: dict[CodeType, Callable[[Any], Owner]] = {
    perform.__code__: lambda found: StepOf(found["life"], found["call"].identity),
    Incarnation.live.__code__: lambda found: StepOf(found["self"], ""),
    Service._main.__code__: lambda found: found["self"],  # pyright: ignore[reportPrivateUsage]  # as above
    Shell._serve.__code__: lambda found: found["self"],  # pyright: ignore[reportPrivateUsage]  # as above
    _HANDLE: lambda found: _owner_of_callback(found["self"]),
}
"""Our own frames, and whose code they run. The first one outwards of a line is its owner."""
