"""Arguments of calls as texts: a digest that is the same everywhere, a preview, a key."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import uuid
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from json.encoder import encode_basestring
from pathlib import PurePath
from typing import Any, Final

from pydantic import BaseModel

from .columns import check_of
from .errors import BadCall
from .log import Log
from .values import UNLIMITED, Limits

__all__ = ["digest", "exact_digest", "key_text"]

_NO_ARGUMENTS: Final = "no arguments"


def digest(arguments: Mapping[str, Any], limits: Limits) -> tuple[str, str]:
    """(digest, preview) of arguments by name.

    The digest is the same in every process: sets and keys are sorted. A Log, what does not encode
    and what is over the limit count as their type.
    """
    if not arguments:
        return _NO_ARGUMENTS, _NO_ARGUMENTS
    texts = _texts(arguments, limits)
    return _hashed(texts), _preview(texts, limits.preview)


def exact_digest(values: Mapping[str, Any]) -> str:
    """A digest of values by name, whatever their size; a Log must be given as a list."""
    return _hashed(_texts(values, UNLIMITED)) if values else _NO_ARGUMENTS


def _texts(values: Mapping[str, Any], limits: Limits) -> dict[str, str]:
    names = sorted(values) if len(values) > 1 else values
    return {name: _canonical(values[name], limits.digest) for name in names}


def _hashed(texts: Mapping[str, str]) -> str:
    whole = "\n".join(f"{name}={text}" for name, text in texts.items())
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _preview(texts: Mapping[str, str], limit: int) -> str:
    share = max(20, limit // len(texts))
    shown = ", ".join(f"{name}={_shorten(text, share)}" for name, text in texts.items())
    return _shorten(shown, limit).encode("utf-8", "replace").decode()


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _canonical(value: Any, limit: int) -> str:
    kind = _kind(value)
    if kind is str and len(value) <= limit:
        return encode_basestring(value)
    if kind is int or kind is bool or value is None:
        return repr(value)
    if isinstance(value, str | bytes) and len(value) > limit:
        return _type_name(value)
    try:
        text = _encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _type_name(value)
    return text if len(text) <= limit else _type_name(value)


def _encode_default(value: Any) -> Any:
    """What JSON itself does not know, as something that it does."""
    kind = _kind(value)
    simpler = _simpler_by_type.get(kind)
    if simpler is None:
        simpler = _simpler_by_type[kind] = _choose(kind)
    return simpler(value)


def _choose(kind: type) -> Callable[[Any], Any]:
    if dataclasses.is_dataclass(kind):
        return _dataclass
    return next((simpler for kinds, simpler in _SIMPLER if issubclass(kind, kinds)), _type_name)


def _kind(value: object) -> type:
    return type(value)


def _type_name(value: object) -> str:
    return f"<{type(value).__qualname__}>"


def _dataclass(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}


_simpler_by_type: weakref.WeakKeyDictionary[type, Callable[[Any], Any]] = (
    weakref.WeakKeyDictionary()
)
_written_in_order: weakref.WeakKeyDictionary[type[BaseModel], bool] = weakref.WeakKeyDictionary()


def _model(model: BaseModel) -> Any:
    """Its JSON, where nothing in it has an order of its own; else its fields."""
    cls = type(model)
    ordered = _written_in_order.get(cls)
    if ordered is None:
        ordered = check_of(cls.__pydantic_core_schema__) is not None
        _written_in_order[cls] = ordered
    if ordered:
        return cls.__pydantic_serializer__.to_json(model, warnings=False).decode()
    return {name: getattr(model, name) for name in cls.model_fields}


def _sorted(members: Iterable[Any]) -> list[str]:
    return sorted(map(_encode, members))


_SIMPLER: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (Log, _type_name),
    (BaseModel, _model),
    ((set, frozenset), _sorted),
    (Enum, lambda member: member.value),
    ((datetime, date, time), lambda instant: instant.isoformat()),
    (timedelta, lambda span: [span.days, span.seconds, span.microseconds]),
    ((bytes, bytearray), lambda data: data.hex()),
    ((uuid.UUID, Decimal, PurePath), str),
    (Mapping, dict),
    (Sequence, list),
)
_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_encode_default
).encode


def key_text(step: str, value: Any) -> str:
    """The key that a value gives to a call of `step`. Raises BadCall where it gives none."""
    text = _key_text(value)
    if text:
        return text
    why = "an empty text tells no calls apart" if text == "" else "it has no short, stable text"
    raise BadCall(
        f"the key of the step {step}",
        value,
        why,
        'key="…" that names a str, int, UUID, Enum or date, or a function that returns one',
    )


def _key_text(value: Any) -> str | None:
    if isinstance(value, Enum):
        return value.name if (text := _key_text(value.value)) is None else text
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, int | float | Decimal | uuid.UUID | PurePath):
        return str(value)
    return _key_of_several(value) if _is_tuple(value) else None


def _is_tuple(value: object) -> bool:
    return isinstance(value, tuple)


def _key_of_several(values: Iterable[Any]) -> str | None:
    parts = [_key_text(part) for part in values]
    return None if None in parts else json.dumps(parts, ensure_ascii=False)
