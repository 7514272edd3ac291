"""Whether values consist of exactly the types that their schema names, checked by columns.

A value of which this is true comes back from JSON as it was written, so nobody has to read it back
to know. All values at one place of a schema are one column, so that the work is done by loops in C.
A check that says no means "unsure".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from itertools import chain
from math import isfinite
from typing import Any, Final
from uuid import UUID

__all__ = ["PLAIN_KEYS", "Check", "check_of"]

Check = Callable[[list[Any]], bool]
"""Says of a column of values whether every one of them is certain to come back the same."""

PLAIN_KEYS: Final = frozenset({"type", "schema", "metadata", "ref", "default", "default_factory"})
"""Keys of a core schema that change nothing of what a value comes back as."""
_MODEL_KEYS: Final = frozenset({"type", "cls", "schema", "config", "ref", "metadata", "frozen"})
_FIELDS_KEYS: Final = frozenset({"type", "fields", "model_name"})
_FIELD_KEYS: Final = frozenset({"type", "schema", "metadata", "frozen"})
_CONFIG_KEYS: Final = frozenset({"title", "frozen", "extra_fields_behavior"})
_ANY: Final = {"type": "any"}
_ZERO: Final = timedelta(0)
_JSON: Final = frozenset({str, int, float, bool, type(None), list, dict})
_STR: Final = frozenset({str})
_DEEPEST: Final = 100
_CLASSES: Final[dict[str, type]] = {
    "str": str,
    "int": int,
    "bool": bool,
    "none": type(None),
    "date": date,
    "uuid": UUID,
}


def check_of(schema: Any, definitions: Iterable[Any] = ()) -> Check | None:
    """The check for values of a core schema; None where it has parts that are never certain."""
    known = {definition["ref"]: definition for definition in definitions}
    while schema["type"] == "definitions":
        known |= {definition["ref"]: definition for definition in schema["definitions"]}
        schema = schema["schema"]
    return _Maker(known).make(schema)


class _Maker:
    """Makes checks, those of definitions once, so that a model may hold itself."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._made: dict[str, Check | None] = {}

    def make(self, schema: Any) -> Check | None:
        kind = schema["type"]
        if kind in _CLASSES:
            return None if _more_than(schema, PLAIN_KEYS) else _of_class(_CLASSES[kind])
        found: Callable[[Any], Check | None] | None = getattr(
            self, f"_{kind.replace('-', '_')}", None
        )
        return None if found is None else found(schema)

    def _definition_ref(self, schema: Any) -> Check | None:
        ref = schema["schema_ref"]
        if ref not in self._made:
            self._made[ref] = lambda column: not column or again(column)
            self._made[ref] = made = self.make(self._definitions[ref])

            def again(column: list[Any]) -> bool:
                return made is not None and made(column)

        return self._made[ref]

    def _float(self, schema: Any) -> Check | None:
        if _more_than(schema, PLAIN_KEYS):
            return None
        floats = _of_class(float)
        return lambda column: floats(column) and all(map(isfinite, column))

    def _datetime(self, schema: Any) -> Check | None:
        if _more_than(schema, PLAIN_KEYS | {"microseconds_precision"}):
            return None
        instants = _of_class(datetime)
        return lambda column: instants(column) and all(map(_is_simple, column))

    def _any(self, schema: Any) -> Check | None:
        return None if _more_than(schema, PLAIN_KEYS) else _is_json

    def _default(self, schema: Any) -> Check | None:
        return None if _more_than(schema, PLAIN_KEYS) else self.make(schema["schema"])

    def _nullable(self, schema: Any) -> Check | None:
        inner = self._default(schema)
        if inner is None:
            return None
        return lambda column: inner([value for value in column if value is not None])

    def _list(self, schema: Any) -> Check | None:
        items = self.make(schema.get("items_schema", _ANY))
        if items is None or _more_than(schema, PLAIN_KEYS | {"items_schema"}):
            return None
        lists = _of_class(list)
        return lambda column: lists(column) and items(_flat(column))

    def _dict(self, schema: Any) -> Check | None:
        keys, values = schema.get("keys_schema", _ANY), schema.get("values_schema", _ANY)
        if keys["type"] != "str" or _more_than(
            schema, PLAIN_KEYS | {"keys_schema", "values_schema"}
        ):
            return None
        check_keys, check_values = self.make(keys), self.make(values)
        if check_keys is None or check_values is None:
            return None
        dicts = _of_class(dict)

        def check(column: list[Any]) -> bool:
            if not dicts(column):
                return False
            if len(column) == 1:  # as an output mostly is
                (one,) = column
                return check_keys([*one]) and check_values([*one.values()])
            values = _flat([one.values() for one in column])
            return check_keys(_flat(column)) and check_values(values)

        return check

    def _model(self, schema: Any) -> Check | None:
        fields: Any = schema["schema"]
        config = schema.get("config", {})
        if _more_than(schema, _MODEL_KEYS) or fields["type"] != "model-fields":
            return None
        if _more_than(fields, _FIELDS_KEYS) or _more_than(config, _CONFIG_KEYS):
            return None
        if config.get("extra_fields_behavior") == "allow":
            return None
        checks = {name: self._field(field) for name, field in fields["fields"].items()}
        certain = {name: check for name, check in checks.items() if check is not None}
        return _of_model(schema["cls"], certain) if len(certain) == len(checks) else None

    def _field(self, field: Any) -> Check | None:
        return None if _more_than(field, _FIELD_KEYS) else self.make(field["schema"])


def _more_than(schema: Any, known: frozenset[str]) -> bool:
    """Whether a schema says something that nobody here knows the meaning of."""
    return any(
        value is not None and value is not False and value != []
        for key, value in schema.items()
        if key not in known
    )


def _of_class(cls: type) -> Check:
    wanted = frozenset({cls})
    return lambda column: wanted.issuperset(map(type, column))


def _is_json(column: list[Any]) -> bool:
    """Whether all is what JSON has, not too deep for its readers."""
    for _ in range(_DEEPEST):
        kinds = set(map(type, column))
        if not kinds:
            return True
        if not kinds <= _JSON:
            return False
        if float in kinds and not all(map(isfinite, _those(float, column))):
            return False
        dicts = _those(dict, column) if dict in kinds else []
        if not _STR.issuperset(map(type, _flat(dicts))):
            return False
        lists = _those(list, column) if list in kinds else []
        column = [*_flat(lists), *_flat([value.values() for value in dicts])]
    return False


def _those(kind: type, column: list[Any]) -> list[Any]:
    return [value for value in column if type(value) is kind]


def _is_simple(instant: datetime) -> bool:
    """Naive, or in UTC: others may not be equal to themselves in a repeated hour."""
    return instant.tzinfo is None or instant.utcoffset() == _ZERO


def _of_model(cls: type, fields: dict[str, Check]) -> Check:
    models = _of_class(cls)
    lengths = frozenset({len(fields)})

    def check(column: list[Any]) -> bool:
        if not models(column):
            return False
        values = list(map(vars, column))
        if not lengths.issuperset(map(len, values)):
            return False
        try:
            return all(
                inner([present[name] for present in values]) for name, inner in fields.items()
            )
        except KeyError:  # made by model_construct, without this field
            return False

    return check


def _flat(column: Iterable[Iterable[Any]]) -> list[Any]:
    return list(chain.from_iterable(column))
