"""The verbs of `ctx` that are recorded: their definitions, and how a call of a wait begins."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from .asking import ASK
from .definition import StepDefinition, function_step
from .wait_errors import WaitInStep

if TYPE_CHECKING:
    from .scope import Call, Scope

__all__ = ["ASK_SERVER", "verb_of", "waited"]

R = TypeVar("R")

ASK_SERVER = "ctx.ask"


def _emit() -> None: ...
def _now() -> None: ...
def _ask_human() -> None: ...
def _ask_server() -> None: ...
def _receive() -> None: ...
def _result() -> None: ...
def _sleep() -> None: ...


_VERBS: dict[str, Callable[[], None]] = {
    "ctx.emit": _emit,
    "ctx.now": _now,
    ASK: _ask_human,
    ASK_SERVER: _ask_server,
    "ctx.receive": _receive,
    "ctx.result": _result,
    "ctx.sleep": _sleep,
    "ctx.sleep_until": _sleep,
}


def verb_of(name: str) -> StepDefinition:
    """What a call of this verb is numbered and recorded as."""
    return function_step(_VERBS[name], name)


def waited(
    scope: Scope, verb: str, shown: str, key: str, stand: Callable[[Call], Coroutine[Any, Any, R]]
) -> Coroutine[Any, Any, R]:
    """Number the call of a wait now; the coroutine stands in it. Raises WaitInStep."""
    life = scope.life
    if life.suspended:
        return life.waits.refused()
    scope = scope.present()
    if scope.identity:
        raise WaitInStep(verb, scope.identity, in_handler=scope.errand is not None)
    call = scope.make_call(verb_of(verb), (), {}, key)
    call.preview = shown
    return stand(call)
