"""The verbs of `ctx` that are recorded, as definitions."""

from __future__ import annotations

from collections.abc import Callable

from .asking import ASK
from .definition import StepDefinition, function_step

__all__ = ["verb_of"]


def _emit() -> None: ...
def _now() -> None: ...
def _ask_human() -> None: ...
def _receive() -> None: ...
def _sleep() -> None: ...


_VERBS: dict[str, Callable[[], None]] = {
    "ctx.emit": _emit,
    "ctx.now": _now,
    ASK: _ask_human,
    "ctx.receive": _receive,
    "ctx.sleep": _sleep,
    "ctx.sleep_until": _sleep,
}


def verb_of(name: str) -> StepDefinition:
    """What a call of this verb is numbered and recorded as."""
    return function_step(_VERBS[name], name)
