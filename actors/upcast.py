"""`@upcast`: how the stored state of an older version of an actor becomes one of the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from .errors import BadActor, BadCall, StateUnreadable
from .step import unwrapped

__all__ = ["lift", "upcast", "upcasts_of"]

Upcast = Callable[[dict[str, Any]], dict[str, Any]]
U = TypeVar("U", bound=Upcast)


def upcast(from_version: int) -> Callable[[U], U]:
    """Lift stored state of `from_version` to the version after it, when it is loaded.

    The function is given the state as plain JSON by field, without Logs, and returns it in the
    form of the next version. It stands in the class, as a static method::

        class Report(Actor, version=2):
            subject: str

            @upcast(1)
            @staticmethod
            def rename_topic(state: dict[str, Any]) -> dict[str, Any]:
                state["subject"] = state.pop("topic")
                return state
    """
    if type(cast("object", from_version)) is not int or from_version < 1:
        raise BadCall("from_version", from_version, "it is no version of an actor", "@upcast(1)")

    def mark(fn: U, /) -> U:
        unwrapped(fn).__upcast__ = from_version
        return fn

    return mark


def upcasts_of(cls: type, actor: str, version: int) -> dict[int, Upcast]:
    """The upcasts of `cls` by the version they start from. Raises BadActor for odd ones."""
    found: dict[int, Upcast] = {}
    for base in reversed(cls.__mro__):
        own: dict[int, str] = {}
        for name, value in vars(base).items():
            function: Any = unwrapped(value)
            start = getattr(function, "__upcast__", None)
            if not callable(function) or not isinstance(start, int):
                continue
            if start in own:
                raise BadActor(
                    f"the actor {actor}",
                    f"{own[start]} and {name} both lift version {start}",
                    "one @upcast for each version",
                )
            own[start] = name
            found[start] = cast("Upcast", function)
    late = [start for start in found if start >= version]
    if late and any(getattr(value, "__upcast__", 0) for value in _functions(cls)):
        raise BadActor(
            f"the actor {actor}",
            f"@upcast({max(late)}) lifts a version that is not before version={version}",
            f"class {cls.__name__}(Actor, version={max(late) + 1})",
        )
    return found


def _functions(cls: type) -> list[Any]:
    return [unwrapped(value) for value in vars(cls).values()]


def lift(
    fields: Mapping[str, bytes],
    stored: int,
    actor: str,
    version: int,
    upcasts: Mapping[int, Upcast],
) -> dict[str, bytes]:
    """The fields of state of version `stored` in the form of `version`. Raises StateUnreadable."""
    if stored > version:
        raise StateUnreadable(
            actor, "the state", f"it has version {stored}, and this class is version {version}"
        )
    state: dict[str, Any] = {name: json.loads(data) for name, data in fields.items()}
    for start in range(stored, version):
        step = upcasts.get(start)
        if step is None:
            raise StateUnreadable(
                actor, "the state", f"it has version {stored}, and there is no @upcast({start})"
            )
        state = step(state)
        if not isinstance(cast("object", state), dict):
            raise StateUnreadable(
                actor,
                "the state",
                f"@upcast({start}) returned {type(cast('object', state)).__name__}, not a dict",
            )
    return {name: _written(value, actor, name) for name, value in state.items()}


def _written(value: Any, actor: str, name: str) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise StateUnreadable(
            actor, f"the field {name!r}", f"an @upcast made no JSON of it: {error}"
        ) from error
