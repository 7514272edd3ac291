"""A life is halted where its code comes to something recorded that does not load."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from .errors import StateUnreadable
from .verdicts import Ended

if TYPE_CHECKING:
    from .scope import Scope
    from .values import ValueCodec

__all__ = ["decoded", "halt_as_unreadable", "halt_from_any_thread"]

_REASON: Final = "state_unreadable"


def decoded(scope: Scope, codec: ValueCodec, data: bytes, where: str) -> Any:
    """A recorded value; halts the task where it cannot be read any more."""
    try:
        return codec.decode(data)
    except ValueError as error:
        raise halt_as_unreadable(scope, where, error) from error


def halt_as_unreadable(scope: Scope, where: str, error: ValueError) -> Ended:
    """Halt the task, as something recorded cannot be read any more; what to raise."""
    unreadable = StateUnreadable(scope.life.ledger.row.actor, where, str(error))
    return scope.life.halt(scope, _REASON, unreadable, "resume()")


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
