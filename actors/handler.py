"""`@handler`: what turns a method of an actor into one that others call by messages."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from .definition import HandlerOptions
from .errors import BadActor, BadCall
from .step import StepMaker, flag_of, made, retry_of, seconds_of

if TYPE_CHECKING:
    from .retry import Retry

__all__ = ["NO_APPROVAL", "handler"]

NO_APPROVAL = (
    "a server that waited for a person to say yes would hold up all its other messages",
    "a flow or a plan with that step, started for each request",
)
"""Why neither a handler nor a step of a server waits for a person, and what does."""

F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, Any]])
A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS_OF_ASK = frozenset({"request_id", "timeout"})
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@overload
def handler(fn: F, /) -> F: ...
@overload
def handler(
    fn: Callable[Concatenate[A, P], R], /
) -> Callable[Concatenate[A, P], Coroutine[None, None, R]]: ...
@overload
def handler(
    *,
    retry: Retry | None = None,
    timeout: float | timedelta | None = None,
    heartbeat: float | timedelta | None = None,
    readonly: bool = False,
    on_failure: Literal["refuse", "crash"] = "refuse",
    thread: bool = False,
) -> StepMaker: ...
def handler(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    retry: Retry | None = None,
    timeout: float | timedelta | None = None,
    heartbeat: float | timedelta | None = None,
    readonly: bool = False,
    on_failure: Literal["refuse", "crash"] = "refuse",
    thread: bool = False,
    approval: object = None,
) -> Any:
    """Make a method of an actor one that is called by messages; the actor is a server then.

    A handled message is one step: taking it, what it changed and sent, and its reply are one
    commit. One message is handled at a time, in the order of arrival. `retry`, `timeout`,
    `heartbeat` and `thread` are those of `@step`.

    `readonly` may run beside others, on the state of the newest commit, and must change no field.
    Where all attempts are used up, `on_failure="refuse"` answers HandlerFailed to who asked and
    goes on with the state unchanged; "crash" is a crash of the task, which keeps the message.

    Raises BadActor and BadCall, where it is written, for what cannot work.
    """
    if approval is not None:
        raise BadCall("approval", approval, *NO_APPROVAL)
    options = HandlerOptions(
        retry=retry_of(retry),
        timeout=seconds_of("timeout", timeout),
        heartbeat=seconds_of("heartbeat", heartbeat),
        thread=flag_of("thread", thread),
        readonly=flag_of("readonly", readonly),
        refuses=_refuses(on_failure),
    )

    def make(fn: Any, /) -> Any:
        call = made(fn, options, sys._getframe(1))
        _check_parameters(fn)
        return call

    if fn is None:
        return make
    call = made(fn, options, sys._getframe(1))
    _check_parameters(fn)
    return call


def _refuses(value: Any) -> bool:
    if value not in ("refuse", "crash"):
        raise BadCall("on_failure", value, "it is unknown", 'on_failure="refuse" or "crash"')
    return bool(value == "refuse")


def _check_parameters(fn: Callable[..., Any]) -> None:
    for parameter in list(inspect.signature(fn).parameters.values())[1:]:
        what = f"the handler {fn.__name__}"
        if parameter.kind not in _BY_NAME:
            why = f"its arguments are stored by name, and {parameter} has none that is sure"
            raise BadActor(what, why, "parameters with names: def say(self, text: str)")
        if parameter.name in _OPTIONS_OF_ASK:
            why = f"{parameter.name} is an option of ask"
            raise BadActor(what, why, f"another name: {parameter.name}_")
