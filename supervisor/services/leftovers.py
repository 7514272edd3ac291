"""What children leave behind: tasks that they started, and code that was cut off."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

__all__ = ["Sweeper", "bury", "keep_until_done", "owned_context", "owner_in", "place_of"]

_OWNER: ContextVar[object] = ContextVar("everstep_owner")
_PER_EXIT = 64
_CAN_LOOK = sys.version_info[:2] >= (3, 12)
_GRAVEYARD: list[object] = []
"""Code that was cut off. Of the process, not of a tree: when such a coroutine is collected
its `finally` blocks run, at a time that nobody chose, so it is kept for as long as there is one."""
_TASKS: set[asyncio.Task[Any]] = set()
"""Tasks that nobody waits for any more; the loop itself holds them weakly."""


def owned_context(owner: object) -> Context:
    """An empty context in which everything can be traced back to `owner`."""
    context = Context()
    context.run(_OWNER.set, owner)
    return context


def owner_in(context: Context) -> object:
    """The owner that everything in this context is traced back to, if it has one."""
    return context.get(_OWNER)


def bury(cut_off: object) -> None:
    """Keep a coroutine, or an asyncio task, that is never to be resumed.

    Not even the end of the interpreter collects it: its modules are gone by then.
    """
    _GRAVEYARD.append(cut_off)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(cut_off))


def keep_until_done(task: asyncio.Task[Any]) -> None:
    """Hold a task that nobody waits for."""
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)


def place_of(coroutine: Any) -> str:
    """The file and line of a coroutine, and of the innermost one it waits in."""
    places: list[str] = []
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        places.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        coroutine = coroutine.cr_await
    return " in ".join([places[0], places[-1]] if len(places) > 1 else places)


class Sweeper:
    """Cancels the tasks that ended children had started and left running.

    They are found by their context, from Python 3.12 on; on 3.11 they are not. To look through
    all tasks of the loop is paid for by exits, so that many exits cost no more than linear time:
    those of one turn of the loop share a look at its end, and with many tasks about those of
    several turns do, for as long as 0.05 s. A look comes before what is started in place of them.
    """

    def __init__(self, found: Callable[[object, asyncio.Task[Any]], None]) -> None:
        self._found = found
        self._ended: set[object] = set()
        self._debt = 0
        self._next_look: asyncio.Handle | None = None
        self._is_soon = False
        """Whether the next look is due at the end of this turn."""

    def ended(self, owner: object) -> None:
        """The code of `owner` has ended; cancel what it left running, now or soon."""
        if not _CAN_LOOK:
            return
        self._ended.add(owner)
        self._debt -= _PER_EXIT
        if self._debt <= 0 and not self._is_soon:
            if self._next_look is not None:
                self._next_look.cancel()
            self._next_look = asyncio.get_running_loop().call_soon(self._look)
            self._is_soon = True
        elif self._next_look is None:
            self._next_look = asyncio.get_running_loop().call_later(0.05, self._look)

    def _look(self) -> None:
        self._next_look, self._is_soon = None, False
        tasks = asyncio.all_tasks()
        self._debt = len(tasks)
        for task in tasks:
            owner = _owner_of(task)
            if owner in self._ended and not task.done():
                task.cancel()
                self._found(owner, task)
        self._ended.clear()


def _owner_of(task: asyncio.Task[Any]) -> object:
    if sys.version_info >= (3, 12):
        return owner_in(task.get_context())
    return None
