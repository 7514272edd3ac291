"""Arguments of calls: bound by name, digested, previewed; and ids derived from a seed."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
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

__all__ = ["Parameters", "digest", "exact_digest", "key_text", "stable_id"]

NO_ARGUMENTS: Final = "no arguments"
_MISSING: Final = inspect.Parameter.empty
_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
_SPREAD: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_IMMUTABLE: Final = (str, int, float, bool, type(None), bytes)


class Parameters:
    """The parameters of a step, without the actor itself."""

    __slots__ = ("_defaults", "_named", "_plain", "_signature", "names", "required")

    def __init__(self, signature: inspect.Signature | None) -> None:
        """None: nothing is known (a builtin), so arguments are named by their position."""
        parameters = list(signature.parameters.values()) if signature else []
        self._signature = signature
        self.names = tuple(p.name for p in parameters if p.kind not in _SPREAD)
        self._plain = tuple(p.name for p in parameters if p.kind in _POSITIONAL)
        self._defaults = {p.name: p.default for p in parameters if p.default is not _MISSING}
        self._named = any(
            p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is _MISSING for p in parameters
        )
        self.required = sum(name not in self._defaults for name in self.names)

    @classmethod
    def of(cls, function: Callable[..., Any], skip: int) -> Parameters:
        """Those of `function` after the first `skip`."""
        try:
            signature = inspect.signature(function)
        except (ValueError, TypeError):
            return cls(None)
        parameters = list(signature.parameters.values())
        if parameters and parameters[0].kind in _SPREAD:  # def step(*args): self is in there
            skip = 0
        return cls(signature.replace(parameters=parameters[skip:]))

    def value(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives for one parameter: its default where the call says nothing."""
        if name in kwargs:
            return kwargs[name]
        if name in self._plain:
            place = self._plain.index(name)
            if place < len(args):
                return args[place]
        return self._defaults.get(name)

    def bind(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, without those that equal their default. Raises TypeError."""
        if not args and not kwargs and not self.required:
            return {}
        if self._signature is None:
            return {str(place): value for place, value in enumerate(args)} | kwargs
        given: Iterable[tuple[str, Any]]
        if kwargs or self._named or not self.required <= len(args) <= len(self._plain):
            given = self._bind_fully(what, args, kwargs).items()
        else:
            given = zip(self._plain, args, strict=False)
        return {name: value for name, value in given if not self._is_default(name, value)}

    def _bind_fully(
        self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        assert self._signature is not None
        try:
            return dict(self._signature.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise TypeError(f"{what}() {error}") from None

    def _is_default(self, name: str, value: Any) -> bool:
        default = self._defaults.get(name, _MISSING)
        if value is default:
            return True
        alike = type(value) in _IMMUTABLE and type(value) is type(default)
        return alike and bool(value == default)


def digest(arguments: Mapping[str, Any], limits: Limits) -> tuple[str, str]:
    """(digest, preview) of arguments by name.

    The digest is the same in every process: sets and keys are sorted. A Log, what does not encode
    and what is over the limit count as their type.
    """
    if not arguments:
        return NO_ARGUMENTS, NO_ARGUMENTS
    names = sorted(arguments) if len(arguments) > 1 else arguments
    texts = {name: _canonical(arguments[name], limits.digest) for name in names}
    whole = "\n".join(f"{name}={text}" for name, text in texts.items())
    hashed = hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16)
    return hashed.hexdigest(), _preview(texts, limits.preview)


def exact_digest(values: Mapping[str, Any]) -> str:
    """A digest of values by name, whatever their size; a Log must be given as a list."""
    return digest(values, UNLIMITED)[0]


def _preview(texts: Mapping[str, str], limit: int) -> str:
    share = max(20, limit // len(texts))
    shown = ", ".join(f"{name}={_shorten(text, share)}" for name, text in texts.items())
    return _shorten(shown, limit)


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


def stable_id(seed: bytes, *parts: str) -> str:
    """A UUID (version 8) made of `seed` and `parts`: the same ones give the same id."""
    hashed = hashlib.blake2b(seed, digest_size=16, person=b"everstep")
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "big") + data)
    number = int.from_bytes(hashed.digest(), "big")
    number = number & ~(0xF << 76) | 8 << 76
    number = number & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=number))
