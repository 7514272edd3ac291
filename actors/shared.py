"""Cached properties that all views of one life of an actor share."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from .filling import view_of

if TYPE_CHECKING:
    from .actor import Actor

__all__ = ["share_cached_properties"]


class SharedProperty(property):
    """A cached property whose value is held once for all views of a life of an actor.

    Outside a runtime it is held by the instance, as `functools.cached_property` does. It can be
    assigned and deleted in the same way.
    """

    def __init__(self, name: str, cached: cached_property[Any]) -> None:
        super().__init__(cached.func, doc=cached.__doc__)
        self._held_as = name
        self._compute = cached.func

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        held = self._held_by(instance)
        if self._held_as not in held:
            held[self._held_as] = self._compute(instance)
        return held[self._held_as]

    def __set__(self, instance: Any, value: Any) -> None:
        self._held_by(instance)[self._held_as] = value

    def __delete__(self, instance: Any) -> None:
        held = self._held_by(instance)
        if self._held_as not in held:
            raise AttributeError(self._held_as)
        del held[self._held_as]

    @staticmethod
    def _held_by(instance: Actor) -> dict[str, Any]:
        view = view_of(instance)
        return vars(instance) if view is None else view.family


def share_cached_properties(cls: type[Actor]) -> None:
    """Make the cached properties of `cls` shared ones: its own and those of mixins."""
    seen: set[str] = set()
    for base in cls.__mro__:
        for name, value in list(vars(base).items()):
            if _is_cached(value) and name not in seen:
                setattr(cls, name, SharedProperty(name, value))
            seen.add(name)


def _is_cached(value: object) -> bool:
    return isinstance(value, cached_property)
