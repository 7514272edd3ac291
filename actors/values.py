"""Values as JSON bytes: written so that they come back the same, or refused."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from datetime import datetime, time
from typing import Any, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import (
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)
from pydantic_core import (
    CoreSchema,
    PydanticSerializationError,
    to_json,
)

from ..storage.record import record
from .errors import LONE_SURROGATE, BadCall, NotSerializable, NotValid, PayloadTooLarge
from .foreign import is_kind, name_of, words_of
from .same import difference, same_plain
from .shapes import Shape, shape_of

__all__ = [
    "CONFIG",
    "DEFAULT_LIMITS",
    "UNLIMITED",
    "Limits",
    "NotDefinedYet",
    "ValueCodec",
    "first_problem",
    "why_unreadable",
]

CONFIG: Final = ConfigDict(
    ser_json_inf_nan="strings",
    ser_json_bytes="base64",
    val_json_bytes="base64",
)
"""How values are written: valid JSON, and nothing turned into null."""


@record
class Limits:
    """Sizes in bytes that a task may not exceed, and those of what is kept for people."""

    value: int = 1 << 20
    state: int = 16 << 20
    stream: int = 64 << 20
    """What one attempt of a step may write to a stream."""
    preview: int = 200
    digest: int = 64_000


DEFAULT_LIMITS: Final = Limits()
UNLIMITED: Final = Limits(value=1 << 62, state=1 << 62, stream=1 << 62, digest=1 << 62)


class NotDefinedYet(Exception):
    """A type names a class that does not exist yet, so nothing can be said of it."""


class Validator(Protocol):
    """The part of a SchemaValidator that is used."""

    def validate_python(self, value: Any, /) -> Any: ...
    def validate_json(self, data: bytes, /, *, strict: bool | None = None) -> Any: ...


class Serializer(Protocol):
    """The part of a SchemaSerializer that is used."""

    def to_json(self, value: Any, /, *, warnings: Literal["error", False]) -> bytes: ...


class ValueCodec:
    """Writes and reads values of one type."""

    __slots__ = ("_serializer", "_shape", "_validator", "refusal")

    def __init__(
        self,
        validator: Validator | None,
        serializer: Serializer | None,
        shape: Shape,
        refusal: str | None = None,
    ) -> None:
        self._validator = validator
        self._serializer = serializer
        self._shape = shape
        self.refusal = refusal
        """Why nothing of this type can be stored; None where it can."""

    @classmethod
    def of(cls, annotation: Any) -> ValueCodec:
        """The codec of an annotation; Any stands for plain JSON."""
        if _is_model(annotation):
            return _of_annotation(annotation)  # cheap, and a cache would keep the class alive
        try:
            return _cached(annotation, repr(annotation))
        except TypeError:  # metadata that cannot be hashed
            return _of_annotation(annotation)

    def validate(self, value: Any) -> Any:
        """The value as its type has it: 1 as 1.0 for a float. Raises pydantic's ValidationError."""
        if type(value) in self._shape.exact:
            return value
        if self._validator is None:  # `encode` says why it refuses
            return value
        return self._validator.validate_python(value)

    @property
    def exact(self) -> frozenset[type]:
        """Types whose values need neither validation nor comparison."""
        return self._shape.exact

    @property
    def unordered(self) -> bool:
        """Whether equal values may be written as different bytes."""
        return self._shape.unordered

    def same(self, value: Any, data: bytes) -> bool:
        """Whether `data` holds this value; what does not load holds none."""
        try:
            return difference(value, self.decode(data)) is None
        except ValueError:
            return False

    def encode(self, value: Any, where: str, limits: Limits = DEFAULT_LIMITS) -> bytes:
        """The value as JSON, from which `decode` makes the same value again.

        Raises NotSerializable where it would not, and PayloadTooLarge; both name `where`.
        """
        exact = type(value) in self._shape.exact
        if not exact and (certain := self._if_certain(value, where, limits)) is not None:
            return certain
        data = self._write(value, where, limits, warnings=False if exact else "error")
        if not exact or _has_long_number(data):
            self._check(value, data, where)
        return data

    def settle(self, value: Any, where: str, limits: Limits = DEFAULT_LIMITS) -> tuple[bytes, Any]:
        """(JSON, the value as its type has it): `validate` and `encode` in one.

        Raises NotValid, which names `where`, NotSerializable and PayloadTooLarge. A value of
        exactly the declared types is not validated again.
        """
        if type(value) in self._shape.exact:
            return self.encode(value, where, limits), value
        data = self._if_certain(value, where, limits)
        if data is not None:
            return data, self._as_read(value, data)
        if inspect.iscoroutine(value):
            value.close()
            raise BadCall(where, value, "is a coroutine that was not awaited", "return await …")
        try:
            valid = self.validate(value)
        except ValidationError as error:
            raise NotValid(where, type(value).__qualname__, _first_line(error)) from error
        data = self.encode(valid, where, limits)  # pydantic takes an enum's text for an int
        return data, self._as_read(valid, data)

    def _if_certain(self, value: Any, where: str, limits: Limits) -> bytes | None:
        """The JSON of a value that is certain to come back the same; None where that is unsure.

        It is written before it is looked at, which refuses a value that holds itself.
        """
        check = self._shape.check
        if check is None:
            return None
        try:
            data = self._write(value, where, limits, warnings=False)
            certain = check([value])
        except (NotSerializable, RecursionError):
            return None
        if not certain or _has_long_number(data):
            return None
        return data if _REPLACED[0] not in data or _REPLACED not in data else None  # faster so

    def _as_read(self, value: Any, data: bytes) -> Any:
        """The value; an instant as later lives read it, by its offset and without its zone."""
        return self.decode(data) if type(value) in _INSTANTS else value

    def decode(self, data: bytes, *, strict: bool | None = None) -> Any:
        """The value. Raises ValueError where the bytes are none of this type.

        That is pydantic's ValidationError, unless a validator of the user's raised something else.
        `strict`: a value of another type that could be read as this one is none either.
        """
        assert self._validator is not None, self.refusal
        try:
            if strict is None:
                return self._validator.validate_json(data)
            return self._validator.validate_json(data, strict=strict)
        except (ValueError, MemoryError):
            raise
        except Exception as error:
            raise ValueError(f"{name_of(error)}: {words_of(error)}") from error

    def _write(
        self, value: Any, where: str, limits: Limits, *, warnings: Literal["error", False]
    ) -> bytes:
        if self._serializer is None:
            raise NotSerializable(
                where, type(value).__qualname__, self.refusal or "", _instead_of(value)
            )
        try:
            data = self._serializer.to_json(value, warnings=warnings)
        except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
            why, instead = _first_line(error), _instead_of(value)
            if "surrogates not allowed" in why:
                why, instead = LONE_SURROGATE, _WHOLE
            raise NotSerializable(where, type(value).__qualname__, why, instead) from error
        if len(data) > limits.value:
            raise PayloadTooLarge(where, len(data), limits.value)
        return data

    def _check(self, value: Any, data: bytes, where: str) -> None:
        try:
            back = self.decode(data)
        except (ValidationError, RecursionError) as error:
            why = f"cannot be read back ({_first_line(error)})"
            raise NotSerializable(where, type(value).__qualname__, why) from error
        if self._shape.plain and same_plain(value, back):
            return
        found = difference(value, back)
        if found is not None:
            why, instead = f"changes ({found})", _WHOLE if LONE_SURROGATE in found else None
            raise NotSerializable(where, type(value).__qualname__, why, instead)


def _instead_of(value: Any) -> str | None:
    """What to store instead of a value in which pydantic does not know a type; else None."""
    unknown: list[object] = []
    with contextlib.suppress(PydanticSerializationError, ValueError, TypeError, RecursionError):
        to_json(value, fallback=unknown.append)
    if not unknown:
        return None
    kind = type(unknown[0])
    if issubclass(kind, _FUNCTIONS):
        return "functions cannot be stored: store what names it, and look it up by that"
    try:
        known = _of_annotation(kind).refusal is None
    except NotDefinedYet:
        known = True
    if known:
        return None
    return (
        f"make {kind.__qualname__} a BaseModel or a dataclass, or keep it out of what is stored, "
        "as in a private attribute: _it: … = PrivateAttr()"
    )


_FUNCTIONS: Final = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_INSTANTS: Final = frozenset({datetime, time})
_DIGITS_AS_ZERO: Final = bytes.maketrans(b"123456789", b"000000000")
_LONGEST_NUMBER: Final = 4300
_LONG_NUMBER: Final = b"0" * _LONGEST_NUMBER


def _has_long_number(data: bytes) -> bool:
    """Whether there may be a number in it that Python writes and does not read."""
    return len(data) >= _LONGEST_NUMBER and _LONG_NUMBER in data.translate(_DIGITS_AS_ZERO)


_REPLACED: Final = "\N{REPLACEMENT CHARACTER}".encode()
"""What pydantic writes for half a character in the key of a dict; in a text it refuses one."""
_WHOLE: Final = "store whole characters: name.encode('utf-8', 'replace').decode()"


def first_problem(error: ValidationError) -> str:
    """What is wrong first, and where, in one line and without the value."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return first_problem(error)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    shown = lines[1] if len(lines) > 1 and lines[0].endswith(":") else (lines or [""])[0]
    return shown[:300] or type(error).__name__


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


@functools.lru_cache(maxsize=2048)
def _cached(annotation: Any, _written: str) -> ValueCodec:
    """The text is part of the key: `A | B` equals `B | A`, but reads back other values."""
    return _of_annotation(annotation)


def _of_annotation(annotation: Any) -> ValueCodec:
    try:
        adapter = _adapter(annotation)
        if not adapter.pydantic_complete:
            adapter.rebuild(force=True, raise_errors=True)
        schema: CoreSchema = adapter.core_schema
        validator: Any = adapter.validator
        serializer: Any = adapter.serializer
    except PydanticUndefinedAnnotation as error:
        raise NotDefinedYet(f"{annotation!r}: {_first_line(error)}") from error
    except (PydanticUserError, PydanticSchemaGenerationError, TypeError) as error:
        if getattr(error, "code", None) == "class-not-fully-defined":
            raise NotDefinedYet(f"{annotation!r}: {_first_line(error)}") from error
        return ValueCodec(None, None, Shape(), f"{annotation!r}: {_first_line(error)}")
    return ValueCodec(validator, serializer, shape_of(schema))


def why_unreadable(error: ValueError) -> str:
    """Why bytes did not load, in one line."""
    words = words_of(error)
    if is_kind(error, ValidationError):
        return "; ".join(line.strip() for line in words.splitlines()[1:3])
    return words


def _adapter(annotation: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(annotation, config=CONFIG)
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise
    return TypeAdapter(annotation)  # a model, dataclass or TypedDict has its own settings
