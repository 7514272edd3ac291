"""The specification of a tree as plain data, which can be stored and read without its code."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, field, fields
from typing import Any, cast

from pydantic import JsonValue, TypeAdapter

from ...actors.backoff import Exponential, Fixed, FromTenacity
from ...storage.record import record
from ..pool_spec import Pool
from ..restart import Restart
from .spec import ChildSpec, DynamicSupervisor, Supervisor, id_of, kind_of

__all__ = ["Outline", "outline", "plain_restart", "read_outline"]

_OWN_PLACE = frozenset({"id", "name", "children"})
_LEFT_OUT = frozenset({"args", "extra_args", "tells_when_started"})
"""What a user gives to his functions is nobody else's business."""

_FOR_SERVICES = ("max_restarts", "within", "backoff", "max_failures", "reset_after")
_FOR_TASKS = ("max_restarts", "backoff", "reset_after", "max_deaths", "on_give_up")


@record
class Outline:
    """One child of a tree as it was specified, and what is specified below it.

    `asdict` of it is JSON.
    """

    kind: str
    """A `ChildKind`, or a word of a newer everstep."""
    name: str
    settings: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The options of the specification under their names; functions by their qualified names."""
    children: tuple[Outline, ...] = ()

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    def walk(self) -> Iterator[Outline]:
        """This one and all below it, from the root down."""
        yield self
        for child in self.children:
            yield from child.walk()


def outline(spec: ChildSpec) -> Outline:
    """What a specification says, without the arguments of its functions. Never fails.

    >>> outline(Pool("agents", max_running=20)).settings["max_running"]
    20
    """
    return Outline(
        kind=kind_of(spec),
        name=id_of(spec),
        settings=_settings(spec),
        children=tuple(map(outline, spec.children)) if isinstance(spec, Supervisor) else (),
    )


def plain_restart(restart: Restart, *, tasks: bool = False) -> dict[str, JsonValue]:
    """The options of a policy that have a meaning for services, or for `tasks`."""
    return {
        name: _plain(getattr(restart, name)) for name in (_FOR_TASKS if tasks else _FOR_SERVICES)
    }


def _settings(spec: ChildSpec) -> dict[str, JsonValue]:
    settings: dict[str, JsonValue] = {}
    if isinstance(spec, DynamicSupervisor):
        settings["strategy"] = "dynamic"
    for option in fields(spec):
        if option.name in _OWN_PLACE | _LEFT_OUT:
            continue
        value = getattr(spec, option.name)
        is_policy = isinstance(value, Restart)
        settings[option.name] = (
            plain_restart(value, tasks=isinstance(spec, Pool)) if is_policy else _plain(value)
        )
    return settings


def _plain(value: Any) -> JsonValue:
    """A setting as JSON can say it: what is no data by its name."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, tuple | list):
        return [_plain(one) for one in cast("list[Any]", value)]
    return _backoff(value) or _qualified(value)


def _backoff(value: object) -> str | None:
    """A backoff of ours, as one writes it."""
    if isinstance(value, Exponential):
        return f"exponential({value.base:g}, factor={value.factor:g}, maximum={value.maximum:g})"
    if isinstance(value, Fixed):
        return f"fixed({value.seconds:g})" if value.seconds else "none()"
    if isinstance(value, FromTenacity):
        return f"from_tenacity({_qualified(value.wait)})"
    return None


def _qualified(value: Any) -> str:
    """The qualified name of a function, or of the class of any other object."""
    while isinstance(value, functools.partial):
        value = value.func
    if not isinstance(getattr(value, "__qualname__", None), str):
        value = value.__class__
    return f"{getattr(value, '__module__', None) or '?'}.{value.__qualname__}"


@functools.cache
def _stored() -> TypeAdapter[Outline]:
    return TypeAdapter(Outline)


def read_outline(text: str) -> Outline:
    """What `Outline.encoded` wrote, by this everstep or another. Raises ValueError."""
    return _stored().validate_json(text)
