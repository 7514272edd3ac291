"""Return annotations of steps: finding the names in them, and filling in type variables."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final, TypeVar

__all__ = ["NOT_RESOLVED", "Names", "names_around", "return_annotation"]

Names = dict[str, Any]
_SELF: Final[Any] = vars(typing)["Self"]
NOT_RESOLVED: Final = object()
"""Stands for an annotation that names something which does not exist (yet)."""
_IN_FUNCTION: Final = inspect.CO_OPTIMIZED


def names_around(function: Callable[..., Any], frame: FrameType | None) -> Names:
    """What the return annotation of `function` may name beside globals, seen from `frame`.

    `frame` is where the function is being defined. Only names that a string annotation mentions
    are kept, so that nothing else of a calling function stays alive.
    """
    written = function.__annotations__.get("return")
    if not isinstance(written, str):
        return {}
    wanted = _names_in(written)
    found: Names = {}
    while frame is not None and frame.f_locals is not frame.f_globals:
        here = frame.f_locals
        found = {name: here[name] for name in wanted if name in here} | found
        if frame.f_code.co_flags & _IN_FUNCTION:
            break
        frame = frame.f_back
    return found


def _names_in(written: str) -> set[str]:
    try:
        code: CodeType = compile(written, "<annotation>", "eval")
    except SyntaxError:
        return set()
    return set(code.co_names)


def return_annotation(
    function: Callable[..., Any], actor: type | None, names: Names
) -> tuple[Any, bool]:
    """What `function` returns as a step of `actor`, and whether another class could differ.

    Any where nothing is written; NOT_RESOLVED where a name in it does not exist.
    """
    target = _annotated(function)
    if isinstance(target, type):
        return target, False
    if "return" not in getattr(target, "__annotations__", {}):
        return Any, False
    local = dict(vars(actor)) | names if actor is not None else names
    if actor is not None:
        local.setdefault(actor.__name__, actor)
    try:
        found = _hints(target, local)
    except (NameError, AttributeError):
        return NOT_RESOLVED, False
    return _fill(found, target, actor)


def _hints(target: Any, local: Names) -> Any:
    module = sys.modules.get(getattr(target, "__module__", ""), None)
    scope = getattr(inspect.unwrap(target), "__globals__", vars(module) if module else {})
    only = _OnlyReturn({"return": target.__annotations__["return"]})
    return typing.get_type_hints(only, scope, local, include_extras=True)["return"]


class _OnlyReturn:
    """Looks to `get_type_hints` like a function of which only the return is annotated."""

    def __init__(self, annotations: Names) -> None:
        self.__annotations__ = annotations


def _annotated(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type) or hasattr(function, "__annotations__"):
        return function
    return type(function).__call__


def _fill(annotation: Any, target: Any, actor: type | None) -> tuple[Any, bool]:
    if annotation is _SELF:
        return (Any if actor is None else actor), True
    if not _parameters(annotation) and not _mentions_self(annotation):
        return annotation, False
    known = _arguments_where_defined(target, actor)
    known[_SELF] = actor if actor is not None else Any
    return _substitute(annotation, known), True


def _arguments_where_defined(target: Any, actor: type | None) -> dict[Any, Any]:
    if actor is None:
        return {}
    arguments = _type_arguments(actor)
    for owner in actor.__mro__:
        if any(getattr(value, "__wrapped__", value) is target for value in vars(owner).values()):
            return dict(arguments.get(owner, {}))
    return {}


def _type_arguments(actor: type) -> dict[type, dict[Any, Any]]:
    """For each generic class above `actor`: what its type variables stand for in `actor`."""
    found: dict[type, dict[Any, Any]] = {}

    def walk(cls: type, known: dict[Any, Any]) -> None:
        for base in cls.__bases__:
            origin, parameters, arguments = _generic_facts(base)
            if origin is None:
                walk(base, known)
                continue
            given = [_substitute(argument, known) for argument in arguments]
            found[origin] = dict(zip(parameters, given, strict=False))
            walk(origin, found[origin])

    walk(actor, {})
    return found


def _generic_facts(cls: type) -> tuple[type | None, tuple[Any, ...], tuple[Any, ...]]:
    """(generic class, its type variables, what this class puts for them), as pydantic has it."""
    facts: dict[str, Any] = vars(cls).get("__pydantic_generic_metadata__", {})
    origin: Any = facts.get("origin")
    if origin is None:
        return None, (), ()
    return origin, _parameters(origin), facts["args"]


def _substitute(annotation: Any, known: dict[Any, Any]) -> Any:
    """`annotation` with the type variables in it replaced; what `known` lacks stays."""
    if isinstance(annotation, TypeVar) or annotation is _SELF:
        return known.get(annotation, annotation)
    if _mentions_self(annotation):
        filled = tuple(_substitute(part, known) for part in typing.get_args(annotation))
        if isinstance(annotation, types.UnionType):
            return functools.reduce(_either, filled)
        if hasattr(annotation, "copy_with"):
            return annotation.copy_with(filled)
        return typing.get_origin(annotation)[filled]
    parameters = _parameters(annotation)
    if not parameters:
        return annotation
    return annotation[tuple(known.get(parameter, parameter) for parameter in parameters)]


def _either(left: Any, right: Any) -> Any:
    return left | right


def _mentions_self(annotation: Any) -> bool:
    parts = typing.get_args(annotation)
    return _SELF in parts or any(_mentions_self(part) for part in parts)


def _parameters(annotation: Any) -> tuple[Any, ...]:
    if isinstance(annotation, TypeVar):
        return (annotation,)
    facts: dict[str, Any] | None = getattr(annotation, "__pydantic_generic_metadata__", None)
    if facts is not None:
        return tuple(facts["parameters"])
    return tuple(getattr(annotation, "__parameters__", ()))
