"""Annotations that depend on the class: `Self` and the type variables of generic actors."""

from __future__ import annotations

import functools
import types
import typing
from typing import Any, Final, TypeVar

__all__ = ["filled_in"]

_SELF: Final[Any] = vars(typing)["Self"]


def filled_in(annotation: Any, target: Any, actor: type | None) -> tuple[Any, bool]:
    """An annotation of the function `target` as `actor` has it; whether another could differ."""
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
