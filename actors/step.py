"""`@step`: what turns a method of an actor into a step."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import sys
import types
from collections.abc import Callable, Coroutine
from datetime import timedelta
from types import FrameType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, overload

from .annotations import names_around
from .backoff import number_of
from .definition import HandlerOptions, StepDefinition, StepOptions, is_async
from .errors import BadActor, BadCall
from .prompt import check_fields, template_of

if TYPE_CHECKING:
    from .retry import Retry

__all__ = [
    "KeyFunction",
    "StepMaker",
    "class_of",
    "definition_in",
    "flag_of",
    "made",
    "retry_of",
    "seconds_of",
    "step",
    "unwrapped",
]

F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, Any]])
A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R")
KeyFunction = (
    Callable[[Any], object]
    | Callable[[Any, Any], object]
    | Callable[[Any, Any, Any], object]
    | Callable[[Any, Any, Any, Any], object]
)
"""A function of a step's arguments; by number, so that pyright infers a lambda in strict mode."""


class StepMaker(Protocol):
    """What `step(…)` with options returns: the decorator."""

    @overload
    def __call__(self, fn: F, /) -> F: ...
    @overload
    def __call__(
        self, fn: Callable[Concatenate[A, P], R], /
    ) -> Callable[Concatenate[A, P], Coroutine[None, None, R]]: ...


@overload
def step(fn: F, /) -> F: ...
@overload
def step(
    fn: Callable[Concatenate[A, P], R], /
) -> Callable[Concatenate[A, P], Coroutine[None, None, R]]: ...
@overload
def step(
    *,
    retry: Retry | None = None,
    timeout: float | timedelta | None = None,
    heartbeat: float | timedelta | None = None,
    key: str | KeyFunction | None = None,
    checkpoint: Literal["each", "lazy"] = "each",
    thread: bool = False,
    approval: str | None = None,
) -> StepMaker: ...
def step(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    retry: Retry | None = None,
    timeout: float | timedelta | None = None,
    heartbeat: float | timedelta | None = None,
    key: str | KeyFunction | None = None,
    checkpoint: Literal["each", "lazy"] = "each",
    thread: bool = False,
    approval: str | None = None,
) -> Any:
    """Make a method of an actor a step: the unit that is retried and checkpointed.

    `retry` says how often and when a failed attempt is repeated. `timeout` is the limit of one
    attempt in seconds. Without a call of `ctx.heartbeat()` for `heartbeat` seconds an attempt has
    failed. `key` names the parameter that tells overlapping calls apart, or is a function of the
    arguments. `checkpoint="lazy"` lets the checkpoint ride with the next durable write. A plain
    `def` runs in a thread; `thread=True` says so.

    With `approval` the step waits, as durably as `ctx.ask_human`, until a person has said yes, and
    only then begins its first attempt; a no raises Rejected. The text is what is asked, with fields
    of `self` and of the parameters: `"Publish {self.topic} to {channel}?"`. It is asked once for a
    call, whatever attempts and restarts follow. Such a step is called in `run`, or part of a plan.

    On an actor that no runtime runs, a step is the plain function: no retry, no checkpoint.

    Raises BadActor and BadCall, where it is written, for what cannot work.
    """
    options = StepOptions(
        retry=retry_of(retry),
        timeout=seconds_of("timeout", timeout),
        heartbeat=seconds_of("heartbeat", heartbeat),
        key=_key(key),
        lazy=_is_lazy(checkpoint),
        thread=flag_of("thread", thread),
        approval=template_of(approval),
    )

    def make(fn: Any, /) -> Any:
        return made(fn, options, sys._getframe(1))

    return make if fn is None else made(fn, options, sys._getframe(1))


def class_of(value: object) -> type:
    """The class of a value."""
    return type(value)


def unwrapped(value: Any) -> Any:
    """The function inside a static or class method; anything else as it is."""
    return getattr(value, "__func__", value) if _is_wrapper(value) else value


def _is_wrapper(value: object) -> bool:
    return isinstance(value, staticmethod | classmethod)


def definition_in(value: object) -> StepDefinition | None:
    """The definition that a class attribute carries, if it is a step."""
    found = getattr(value, "__step__", None) if isinstance(value, types.FunctionType) else None
    return found if isinstance(found, StepDefinition) else None


def made(fn: Any, options: StepOptions, frame: FrameType) -> Callable[..., Any]:
    """The method that stands in the class for `fn`, which is defined in `frame`."""
    _check_function(fn, options)
    definition = StepDefinition(
        fn.__name__,
        fn,
        options,
        names=names_around(fn, frame, whole=isinstance(options, HandlerOptions)),
    )
    _check_key(definition)
    check_fields(definition)
    sync = definition.sync

    @functools.wraps(fn)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        try:
            anchor = self.__everstep__.anchor
        except AttributeError:
            _check_actor(self, definition)
            anchor = None
        if anchor is not None:
            own = definition.of(class_of(self))
            return anchor.call(own, args, kwargs)  # type: ignore[no-any-return]  # an Anchor
        if sync:
            return asyncio.to_thread(fn, self, *args, **kwargs)
        return fn(self, *args, **kwargs)  # type: ignore[no-any-return]  # an async def

    call.__step__ = definition  # type: ignore[attr-defined]  # read by definition_in
    return call


def _check_actor(instance: object, definition: StepDefinition) -> None:
    from .actor import Actor

    if isinstance(instance, Actor):
        return
    name, cls = definition.name, type(instance)
    around = definition.function.__qualname__.rpartition(".")[0]
    if not around or around.endswith("<locals>"):
        why = "it stands outside of a class, and has no state that it could change"
        instead = f"it in a class derived from Actor, or no @step and ctx.step({name}, …)"
        raise BadActor(f"the step {name}", why, instead)
    if not hasattr(cls, name):
        why = f"is no actor: {name} was called on its class"
        raise BadCall("self", instance, why, f"actor.{name}(…), or where it is handed on, no call")
    raise BadActor(
        f"the step {name}", f"{cls.__name__} is no Actor", f"class {cls.__name__}(Actor): …"
    )


def _check_function(fn: Any, options: StepOptions) -> None:
    if _is_wrapper(fn):
        raise BadActor(
            f"the step {unwrapped(fn).__name__}",
            f"a {class_of(fn).__name__} has no actor whose state it could change",
            "a method: def …(self)",
        )
    if definition_in(fn) is not None:
        raise BadActor(f"the step {fn.__name__}", "it is decorated twice", "@step once")
    if not isinstance(fn, types.FunctionType):
        raise BadActor(
            f"@step on {fn!r}"[:200],
            "it is no function",
            "@step over a method, or await self.ctx.step(function, …)",
        )
    if inspect.isasyncgenfunction(fn) or inspect.isgeneratorfunction(fn):
        raise BadActor(
            f"the step {fn.__name__}",
            "a generator has no one result that could be stored",
            "async def … that returns a list, or appends to a Log",
        )
    if options.thread and is_async(fn):
        raise BadActor(
            f"the step {fn.__name__}",
            "an async def does not run in a thread",
            f"def {fn.__name__}(…), or leave out thread=True",
        )
    first = next(iter(inspect.signature(fn).parameters.values()), None)
    if first is None or first.kind in {first.KEYWORD_ONLY, first.VAR_KEYWORD}:
        raise BadActor(f"the step {fn.__name__}", "it has no self", f"def {fn.__name__}(self, …)")


def _check_key(definition: StepDefinition) -> None:
    key = definition.options.key
    names = definition.parameters.names
    if isinstance(key, str) and key not in names:
        known = ", ".join(names) or "none"
        raise BadActor(
            f"the step {definition.name}",
            f"key={key!r} names no parameter of it (it has: {known})",
            f'key="{names[0]}"' if names else "a parameter that tells the calls apart",
        )


def retry_of(value: Any) -> Any:
    """The policy, if it is one. Raises BadCall."""
    from .retry import Retry

    if value is None or isinstance(value, Retry):
        return value
    raise BadCall("retry", value, "it is no Retry", "retry=Retry(max_attempts=3)")


def seconds_of(what: str, value: Any) -> float | None:
    """A limit in seconds, or none. Raises BadCall."""
    if value is None:
        return None
    seconds = number_of(value.total_seconds() if isinstance(value, timedelta) else value)
    if seconds is None:
        raise BadCall(what, value, "it is no number of seconds", f"{what}=30, or a timedelta")
    if not (seconds > 0 and math.isfinite(seconds)):
        raise BadCall(
            what, value, "it must be more than 0 and finite", f"{what}=30, or leave it out"
        )
    return seconds


def _key(value: Any) -> Any:
    if value is None or callable(value) or (isinstance(value, str) and value.isidentifier()):
        return value
    raise BadCall(
        "key", value, "it names no parameter", 'key="url", or key=lambda url: … (the arguments)'
    )


def _is_lazy(value: Any) -> bool:
    if value not in ("each", "lazy"):
        raise BadCall("checkpoint", value, "it is unknown", 'checkpoint="each" or "lazy"')
    return bool(value == "lazy")


def flag_of(what: str, value: Any) -> bool:
    """True or False. Raises BadCall."""
    if not isinstance(value, bool):
        raise BadCall(what, value, "it is not True or False", f"{what}=True")
    return value
