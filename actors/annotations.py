"""Annotations of steps: what the names in them stand for."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final

from .type_variables import filled_in

__all__ = [
    "NOT_RESOLVED",
    "Names",
    "bare",
    "names_around",
    "parameter_annotation",
    "return_annotation",
]

Names = dict[str, Any]
NOT_RESOLVED: Final = object()
"""Stands for an annotation that names something which does not exist (yet)."""
_IN_FUNCTION: Final = inspect.CO_OPTIMIZED


def names_around(
    function: Callable[..., Any], frame: FrameType | None, *, whole: bool = False
) -> Names:
    """What the return annotation of `function` may name beside globals, seen from `frame`.

    `frame` is where the function is being defined. Only names that a string annotation mentions
    are kept, so that nothing else of a calling function stays alive. With `whole` also
    what the annotations of its parameters may name.
    """
    written = function.__annotations__
    texts = written.values() if whole else [written.get("return")]
    wanted = set[str]().union(*(_names_in(text) for text in texts if isinstance(text, str)))
    if not wanted:
        return {}
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
    return _annotation("return", target, actor, names)


def parameter_annotation(function: Callable[..., Any], name: str, actor: type, names: Names) -> Any:
    """The type of a parameter of a method of `actor`; as of `return_annotation` otherwise."""
    return _annotation(name, _annotated(function), actor, names)[0]


def _annotation(name: str, target: Any, actor: type | None, names: Names) -> tuple[Any, bool]:
    if name not in getattr(target, "__annotations__", {}):
        return Any, False
    local = dict(vars(actor)) | names if actor is not None else names
    if actor is not None:
        local.setdefault(actor.__name__, actor)
    try:
        found = _hint(name, target, local)
    except (NameError, AttributeError):
        return NOT_RESOLVED, False
    return filled_in(found, target, actor)


def _hint(name: str, target: Any, local: Names) -> Any:
    module = sys.modules.get(getattr(target, "__module__", ""), None)
    scope = getattr(inspect.unwrap(target), "__globals__", vars(module) if module else {})
    only = _OnlyOne({name: target.__annotations__[name]})
    return typing.get_type_hints(only, scope, local, include_extras=True)[name]


class _OnlyOne:
    """Looks to `get_type_hints` like a function of which only one thing is annotated."""

    def __init__(self, annotations: Names) -> None:
        self.__annotations__ = annotations


def _annotated(function: Any) -> Any:
    function = bare(function)
    if isinstance(function, type) or hasattr(function, "__annotations__"):
        return function
    return type(function).__call__


def bare(function: Any) -> Any:
    """The callable inside of partials; anything else as it is."""
    while isinstance(function, functools.partial):
        function = function.func
    return function
