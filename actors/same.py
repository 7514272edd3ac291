"""Whether a value that was read back is the value that was written: same types, equal, deep."""

from __future__ import annotations

import dataclasses
import marshal
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, time
from decimal import Decimal
from enum import Enum
from math import copysign
from typing import Any, Final

from pydantic import BaseModel

from .errors import LONE_SURROGATE, has_lone_surrogate

__all__ = ["difference", "same_plain"]

_MISSING: Final = object()
_MARSHAL_WITHOUT_REFERENCES: Final = 2


def same_plain(left: Any, right: Any) -> bool:
    """Whether both consist of exact built-in types alone and are the same; False where unsure.

    Only for values whose type has no bytes in it, because buffers are taken for bytes.
    """
    try:
        return marshal.dumps(left, _MARSHAL_WITHOUT_REFERENCES) == marshal.dumps(
            right, _MARSHAL_WITHOUT_REFERENCES
        )
    except ValueError:  # something else than built-in types, or nested too deeply
        return False


def difference(left: Any, right: Any) -> str | None:
    """Where `right` is not what `left` is, in words; None where they are the same.

    The same: equal, of the same types all the way down, NaN equal to NaN, 0.0 unlike -0.0.
    """
    kind = _type(left)
    if kind is not _type(right):
        return f"a {kind.__qualname__} comes back as a {_type(right).__qualname__}"
    if left is right and kind in _ATOMS:
        return None
    return _comparison(kind)(left, right)


def _type(value: object) -> type:
    return type(value)


_ATOMS: Final = frozenset({int, str, bool, type(None), bytes})


def _changed(left: Any, right: Any) -> str:
    return f"{left!r:.80} comes back as {right!r:.80}"


def _equal(left: Any, right: Any) -> str | None:
    return None if (left == right) is True else _changed(left, right)


def _floats(left: float, right: float) -> str | None:
    equal = left == right and copysign(1, left) == copysign(1, right)
    return None if equal or (left != left and right != right) else _changed(left, right)


def _decimals(left: Decimal, right: Decimal) -> str | None:
    return None if left.as_tuple() == right.as_tuple() else _changed(left, right)


def _instants(left: Any, right: Any) -> str | None:
    """The same clock reading with the same offset: `==` says no in a repeated hour."""
    if (left.tzinfo is None) != (right.tzinfo is None) or left.utcoffset() != right.utcoffset():
        return _changed(left, right)
    return _equal(left.replace(tzinfo=None, fold=0), right.replace(tzinfo=None, fold=0))


def _identical(left: Any, right: Any) -> str | None:
    return None if left is right else _changed(left, right)


def _sequences(left: Any, right: Any) -> str | None:
    if len(left) != len(right):
        return f"{len(left)} items come back as {len(right)}"
    for place, (one, other) in enumerate(zip(left, right, strict=True)):
        if (found := difference(one, other)) is not None:
            return f"[{place}]: {found}"
    return None


def _deques(left: deque[Any], right: deque[Any]) -> str | None:
    if left.maxlen != right.maxlen:
        return f"maxlen={left.maxlen} comes back as {right.maxlen}"
    return _sequences(left, right)


def _sets(left: AbstractSet[Any], right: AbstractSet[Any]) -> str | None:
    if len(left) != len(right):
        return f"{len(left)} members come back as {len(right)}"
    others = {member: member for member in right}
    for member in left:
        other = others.get(member, _MISSING)
        if other is _MISSING:
            return f"the member {member!r:.80} does not come back"
        if (found := difference(member, other)) is not None:
            return found
    return None


def _mappings(left: Mapping[Any, Any], right: Mapping[Any, Any]) -> str | None:
    keys = {key: key for key in right}
    for key, value in left.items():
        other = keys.get(key, _MISSING)
        if other is _MISSING:
            return f"the key {key!r:.80} {_lost(key)}"
        if (found := difference(key, other)) is not None:
            return f"a key: {found}"
        if (found := difference(value, right[other])) is not None:
            return f"[{key!r:.80}]: {found}"
    if len(left) != len(right):
        return f"{len(left)} keys come back as {len(right)}"
    return None


def _lost(key: object) -> str:
    lone = isinstance(key, str) and has_lone_surrogate(key)
    return LONE_SURROGATE if lone else "does not come back"


def _ordered(left: Mapping[Any, Any], right: Mapping[Any, Any]) -> str | None:
    found = _mappings(left, right)
    return found or _sequences(list(left.items()), list(right.items()))


def _defaulting(left: defaultdict[Any, Any], right: defaultdict[Any, Any]) -> str | None:
    if left.default_factory is not right.default_factory:
        return f"default_factory={left.default_factory!r} comes back as {right.default_factory!r}"
    return _mappings(left, right)


def _models(left: BaseModel, right: BaseModel) -> str | None:
    for name in type(left).model_fields:
        one, other = getattr(left, name, _MISSING), getattr(right, name, _MISSING)
        if (found := difference(one, other)) is not None:
            return f".{name}: {found}"
    if (found := difference(left.__pydantic_extra__, right.__pydantic_extra__)) is not None:
        return f"an extra field: {found}"
    if (found := difference(left.__pydantic_private__, right.__pydantic_private__)) is not None:
        return f"a private attribute: {found}"
    return None


def _dataclasses(left: Any, right: Any) -> str | None:
    for field in dataclasses.fields(left):
        one = getattr(left, field.name, _MISSING)
        other = getattr(right, field.name, _MISSING)
        if (found := difference(one, other)) is not None:
            return f".{field.name}: {found}"
    return None


def _named_tuples(left: Any, right: Any) -> str | None:
    for name, one, other in zip(left._fields, left, right, strict=True):
        if (found := difference(one, other)) is not None:
            return f".{name}: {found}"
    return None


_Comparison = Callable[[Any, Any], str | None]
_BY_BASE: Final[tuple[tuple[type | tuple[type, ...], _Comparison], ...]] = (
    (Enum, _identical),
    (BaseModel, _models),
    (float, _floats),
    (Decimal, _decimals),
    ((datetime, time), _instants),
    (deque, _deques),
    (OrderedDict, _ordered),
    (defaultdict, _defaulting),
    (Mapping, _mappings),
    (AbstractSet, _sets),
    ((list, tuple), _sequences),
)
_known: dict[type, _Comparison] = {}


def _comparison(kind: type) -> _Comparison:
    found = _known.get(kind)
    if found is None:
        found = _choose(kind)
        if kind.__module__ in {"builtins", "collections", "datetime", "decimal"}:
            _known[kind] = found  # not for classes that may be collected one day
    return found


def _choose(kind: type) -> _Comparison:
    if hasattr(kind, "__dataclass_fields__"):
        return _dataclasses
    if hasattr(kind, "_fields") and tuple in kind.__mro__:
        return _named_tuples
    for bases, comparison in _BY_BASE:
        if issubclass(kind, bases):
            return comparison
    return _equal
