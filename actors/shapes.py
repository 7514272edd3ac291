"""What a core schema tells about values: which ones need no look at what they come back as."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from .columns import PLAIN_KEYS, Check, check_of

__all__ = ["IMMUTABLE", "Shape", "parts_of", "shape_of", "wrappers_of"]

IMMUTABLE: Final = frozenset(
    {str, int, float, bool, type(None), bytes, date, datetime, time, timedelta, Decimal, UUID}
)
"""Types whose values may be shared by everyone."""

_ATOMS: Final[dict[str, type]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "none": type(None),
}
_SETS: Final = frozenset({"set", "frozenset"})
_NO_SCHEMAS: Final = frozenset({"default", "expected", "metadata"})
"""Keys of a core schema under which there are values."""
_TRANSPARENT: Final = frozenset({"nullable", "default"})


class Shape(NamedTuple):
    """How sure it is, by type alone, that a value comes back as it was written."""

    exact: frozenset[type] = frozenset()
    """A value whose type is exactly one of these is valid and comes back the same."""
    plain: bool = False
    """What comes back consists of str, int, float, bool, None, list, tuple and dict."""
    unordered: bool = False
    """Equal values may be written in different order."""
    check: Check | None = None
    """Says of values that they are certain to come back the same."""


def shape_of(schema: Any, definitions: Any = (), config: Any = None) -> Shape:
    """The shape of a core schema; unsure of whatever it does not know."""
    unordered = any(part["type"] in _SETS for part in _all_parts_of(schema, definitions))
    if config is not None and not _is_usual(config):
        return Shape(unordered=unordered)
    check = check_of(schema, definitions)
    return Shape(_exact(schema), _plain(schema), unordered, check)


_HARMLESS: Final = frozenset(
    {
        "cache_strings",
        "extra_fields_behavior",
        "from_attributes",
        "hide_input_in_errors",
        "loc_by_alias",
        "polymorphic_serialization",
        "regex_engine",
        "revalidate_instances",
        "ser_json_bytes",
        "ser_json_timedelta",
        "serialize_by_alias",
        "strict",
        "title",
        "typed_dict_total",
        "url_preserve_empty_path",
        "val_json_bytes",
        "val_temporal_unit",
        "validate_by_alias",
        "validate_by_name",
        "validate_default",
        "validation_error_cause",
    }
)
"""Settings of a class that change neither how a type that is called certain is written nor read."""
_USUAL: Final = {"ser_json_inf_nan": "strings", "ser_json_temporal": "iso8601"}


def _is_usual(config: Any) -> bool:
    """Whether values are written and read as is known here, whatever else the class sets."""
    return all(name in _HARMLESS or value == _USUAL.get(name) for name, value in config.items())


def _all_parts_of(schema: Any, definitions: Any) -> Iterator[dict[str, Any]]:
    """A core schema and all schemas in it, and in the definitions that it refers to."""
    known = {definition["ref"]: definition for definition in definitions}
    ahead: list[Any] = [schema]
    while ahead:
        for part in parts_of(ahead.pop()):
            yield part
            if part["type"] == "definition-ref":
                ahead.append(known.pop(part["schema_ref"], None))


def parts_of(schema: Any) -> Iterator[dict[str, Any]]:
    """A core schema and all schemas in it; references are not followed."""
    if isinstance(schema, dict):
        part = cast("dict[str, Any]", schema)
        is_schema = isinstance(part.get("type"), str)  # not fields by name, one of them `type`
        if is_schema:
            yield part
        for key, inner in part.items():
            if not (is_schema and key in _NO_SCHEMAS):
                yield from parts_of(inner)
    elif isinstance(schema, list | tuple):
        for inner in cast("list[Any]", schema):
            yield from parts_of(inner)


def wrappers_of(schema: Any) -> Iterator[dict[str, Any]]:
    """A core schema, what it wraps, and so on inwards."""
    while isinstance(schema, dict):
        part = cast("dict[str, Any]", schema)
        yield part
        schema = part.get("schema")


def _exact(schema: Any) -> frozenset[type]:
    kind = schema["type"]
    if set(schema) - PLAIN_KEYS:
        return frozenset()
    if kind in _ATOMS:
        return frozenset({_ATOMS[kind]})
    if kind == "nullable":
        return _exact(schema["schema"]) | {type(None)}
    if kind == "default":
        return _exact(schema["schema"])
    return frozenset()


def _plain(schema: Any) -> bool:
    kind = schema["type"]
    if "serialization" in schema:
        return False
    if kind in _ATOMS or kind in {"any", "literal"}:
        return kind != "literal" or all(type(item) in _PLAIN for item in schema["expected"])
    if kind in _TRANSPARENT:
        return _plain(schema["schema"])
    inner: list[Any] = [schema[key] for key in _INNER.get(kind, ()) if key in schema]
    if kind == "tuple":
        inner = list(schema["items_schema"])
    if kind == "union":
        inner = [choice[0] if isinstance(choice, tuple) else choice for choice in schema["choices"]]
    return kind in _CONTAINERS and all(_plain(part) for part in inner)


_PLAIN: Final = frozenset(_ATOMS.values())
_INNER: Final = {"list": ("items_schema",), "dict": ("keys_schema", "values_schema")}
_CONTAINERS: Final = frozenset({"list", "dict", "tuple", "union"})
