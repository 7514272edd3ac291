"""What is known about a step before it is called: one definition per decorated function."""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..storage.record import record
from .annotations import NOT_RESOLVED, Names, bare, parameter_annotation, return_annotation
from .digest import digest, key_text
from .errors import BadActor, BadCall
from .parameters import Parameters
from .values import DEFAULT_LIMITS, NotDefinedYet, ValueCodec

if TYPE_CHECKING:
    from .retry import Retry

__all__ = [
    "HandlerOptions",
    "StepDefinition",
    "StepOptions",
    "function_step",
    "is_async",
    "named_step",
]


@record
class StepOptions:
    """How the attempts of a step are run. Times are in seconds."""

    retry: Retry | None = None
    timeout: float | None = None
    heartbeat: float | None = None
    key: str | Callable[..., object] | None = None
    lazy: bool = False
    thread: bool = False
    approval: str | None = None
    """What a person is asked before the first attempt, with fields to be filled in."""

    @property
    def limited(self) -> bool:
        """Whether an attempt is ended in time, or when it gives no sign of life."""
        return self.timeout is not None or self.heartbeat is not None


@record
class HandlerOptions(StepOptions):
    """The same of a step that handles a message."""

    readonly: bool = False
    """It runs beside others and changes no field."""
    refuses: bool = True
    """When it has used up its attempts, it answers with that; else the task crashes."""


_DEFAULT_OPTIONS: Final = StepOptions()
_DEFINITIONS: Final = "__everstep_definitions__"
"""Where a class keeps its own definitions, and a function those that are made of it: what a cache
elsewhere would keep alive."""
_MOST_NAMES: Final = 100
_LAMBDA: Final = (lambda: None).__name__


class StepDefinition:
    """One step: its name, function and options. Immutable; what it derives is derived once.

    A step of an actor is defined by a method, whose first parameter is the actor. The return
    annotation is resolved when `output` is first asked for, so it may name classes that are
    defined later. Where it depends on the class (`Self`, a type variable of a generic actor),
    `of` gives the definition for one class.
    """

    __slots__ = (
        "__weakref__",
        "_names",
        "_output",
        "_owner",
        "_per_class",
        "function",
        "method",
        "name",
        "options",
        "parameters",
        "sync",
    )

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        options: StepOptions = _DEFAULT_OPTIONS,
        *,
        method: bool = True,
        names: Names | None = None,
        owner: type | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.options = options
        self.method = method
        self.sync = not is_async(function)
        self.parameters = Parameters.of(function, skip=1 if method else 0)
        self._names: Names = {} if names is None else names
        self._owner = owner
        self._output: ValueCodec | None = None
        self._per_class = False

    def __repr__(self) -> str:
        return f"<step {self.name}>"

    @property
    def needs_arguments(self) -> bool:
        """Whether a call without arguments is a TypeError."""
        return self.parameters.required > 0

    @property
    def output(self) -> ValueCodec:
        """The codec of what the step returns. Raises BadActor where that cannot be stored."""
        if self._output is None:
            self._output = self._resolve(self._owner)
        return self._output

    def of(self, actor: type) -> StepDefinition:
        """This definition as it stands in the class `actor`: itself, unless its output differs."""
        if not self._per_class:
            if self._output is not None:
                return self
            return self._settle(actor)
        found: StepDefinition | None = vars(actor).get(_DEFINITIONS, {}).get(self)
        return self._settle(actor) if found is None else found

    def check_output(self, actor: type) -> None:
        """Raise BadActor for a return annotation that resolves by now and cannot be stored."""
        annotation, _ = return_annotation(self.function, actor, self._names)
        if annotation is not NOT_RESOLVED:
            with contextlib.suppress(NotDefinedYet):
                _storable(self.name, annotation)

    def inputs(self, actor: type) -> dict[str, ValueCodec]:
        """The codecs of its parameters by name, as they stand in the class `actor`.

        Raises BadActor for one that cannot be stored.
        """
        return {
            name: self._input(name, parameter_annotation(self.function, name, actor, self._names))
            for name in self.parameters.names
        }

    def _input(self, name: str, annotation: Any) -> ValueCodec:
        codec = None if annotation is NOT_RESOLVED else ValueCodec.of(annotation)
        if codec is None or codec.refusal is not None:
            why = "names something that does not exist" if codec is None else codec.refusal
            raise BadActor(
                f"the handler {self.name}",
                f"its parameter {name} cannot be stored: {why}",
                "an annotation that can be imported, and that pydantic writes as JSON",
            )
        return codec

    def key_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The key of this call, "" where the step has none. Raises BadCall for an unusable one."""
        key = self.options.key
        if key is None:
            return ""
        value = key(*args, **kwargs) if callable(key) else self.parameters.value(key, args, kwargs)
        return key_text(self.name, value)

    def digest_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, str]:
        """A digest of the arguments that is the same in every process, and a preview of them.

        Arguments that do not fit the signature are a TypeError, as at any call.
        """
        return digest(self.parameters.bind(self.name, args, kwargs), DEFAULT_LIMITS)

    def key_example(self) -> str | None:
        """The parameter to name in `key=`, for messages."""
        return self.parameters.names[0] if self.parameters.names else None

    def _settle(self, actor: type) -> StepDefinition:
        annotation, per_class = return_annotation(self.function, actor, self._names)
        if not per_class and annotation is not NOT_RESOLVED:
            self._output = _codec(self.name, annotation)
            return self
        self._per_class = True
        own = StepDefinition(
            self.name,
            self.function,
            self.options,
            method=self.method,
            names=self._names,
            owner=actor,
        )
        own._output = own._resolve(actor)
        if _DEFINITIONS not in vars(actor):
            setattr(actor, _DEFINITIONS, {})
        vars(actor)[_DEFINITIONS][self] = own
        return own

    def _resolve(self, actor: type | None) -> ValueCodec:
        annotation, _ = return_annotation(self.function, actor, self._names)
        if annotation is NOT_RESOLVED:
            raise BadActor(
                f"the step {self.name}",
                f"its return annotation {self.function.__annotations__['return']!r} names "
                "something that does not exist where the step is defined",
                "an annotation whose names can be imported from the step's module",
            )
        return _codec(self.name, annotation)


def _codec(step: str, annotation: Any) -> ValueCodec:
    try:
        return _storable(step, annotation)
    except NotDefinedYet as error:
        raise BadActor(
            f"the step {step}",
            f"what it returns names something that is not defined: {error}",
            "a return annotation whose names can be imported",
        ) from error


def _storable(step: str, annotation: Any) -> ValueCodec:
    codec = ValueCodec.of(annotation)
    if codec.refusal is not None:
        raise BadActor(
            f"the step {step}",
            f"what it returns cannot be stored: {codec.refusal}",
            "a return annotation that pydantic writes as JSON",
        )
    return codec


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call returns an awaitable, as far as can be known without calling."""
    called: Callable[..., Any] = bare(function)
    if not isinstance(called, types.FunctionType | types.MethodType | type):
        called = getattr(type(called), "__call__", called)  # noqa: B004  (what a call of it runs)
    return inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(
        inspect.unwrap(called)
    )


def named_step(fn: Callable[..., Any], name: str | None) -> StepDefinition:
    """The definition of a step that is any callable, for `ctx.step(fn, …)`.

    Raises BadCall for a lambda without a name, since a checkpoint is found by that.
    """
    found = function_step(fn, name)
    if name is None and found.name == _LAMBDA:
        why = "is a lambda, and a checkpoint is found by the name of its step"
        raise BadCall("fn", fn, why, 'ctx.step(lambda: …, name="fetch"), or a def')
    return found


def function_step(fn: Callable[..., Any], name: str | None = None) -> StepDefinition:
    """The definition of a step that is any callable, by its own name unless one is given."""
    if not callable(fn):
        raise BadCall("fn", fn, "it cannot be called", "ctx.step(function, *arguments)")
    if not isinstance(fn, types.FunctionType):
        return _define(fn, name)
    held: tuple[Any, dict[str | None, StepDefinition]] = vars(fn).get(_DEFINITIONS, (None, {}))
    holder, known = held
    if holder is not fn:  # functools.wraps copies what a function holds
        known = {}
        vars(fn)[_DEFINITIONS] = (fn, known)
    found: StepDefinition | None = known.get(name)
    if found is None:
        found = _define(fn, name)
        if len(known) < _MOST_NAMES:  # names made up per call must not pile up
            known[name] = found
    return found


def _define(fn: Callable[..., Any], name: str | None) -> StepDefinition:
    return StepDefinition(name or _name_of(fn), fn, method=False)


def _name_of(fn: Callable[..., Any]) -> str:
    named = bare(fn)
    return getattr(named, "__name__", type(named).__name__)
