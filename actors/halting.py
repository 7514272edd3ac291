"""A life is halted where its code touches state that does not load, in whatever thread that is."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from .verdicts import Ended

if TYPE_CHECKING:
    from .errors import StateUnreadable
    from .scope import Scope

__all__ = ["halt_from_any_thread"]

_REASON: Final = "state_unreadable"


def halt_from_any_thread(scope: Scope, error: StateUnreadable) -> Ended:
    """Halt the life of this scope; what to raise in its code.

    In a thread that is not the loop's, the scope is marked at once, and the loop halts the life
    before it hears of what the thread returns.
    """
    life = scope.life
    if _is_here(life.loop):
        return life.halt(scope, _REASON, error, "resume()")
    scope.halts()
    if life.loop is not None:
        with suppress(RuntimeError):  # the loop has ended before the thread, and the life with it
            life.loop.call_soon_threadsafe(life.halt, scope, _REASON, error, "resume()")
    return Ended(_REASON)


def _is_here(loop: asyncio.AbstractEventLoop | None) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
