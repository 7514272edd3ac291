"""The codec of each field of an actor, taken from the class's own core schema.

So what the class says of a field holds for it alone too: constraints, field validators, field
serializers. Aliases and `exclude` are for dumps, and mean nothing to the stored state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic_core import SchemaSerializer, SchemaValidator

from .log import Log
from .shapes import parts_of, shape_of, wrappers_of
from .values import ValueCodec

if TYPE_CHECKING:
    from .actor import Actor

__all__ = ["codecs_of"]

_NOT_FINITE: Final = frozenset({b'"NaN"', b'"Infinity"', b'"-Infinity"'})
_INNER: Final = ("schema", "items_schema", "json_schema", "return_schema")


def codecs_of(actor: type[Actor]) -> tuple[dict[str, ValueCodec], dict[str, ValueCodec]]:
    """(codecs of the fields that are no Log, codecs of the items of those that are)."""
    fields, config, definitions = _fields(actor)
    values: dict[str, ValueCodec] = {}
    items: dict[str, ValueCodec] = {}
    for name, field in fields.items():
        build = _Build(actor, name, config, definitions)
        if _is_log(actor.model_fields[name].annotation):
            items[name] = build.codec(_items_of(field["schema"]))
        else:
            values[name] = build.codec(field["schema"])
    return values, items


class _Build:
    """Makes the codec of one field."""

    def __init__(self, actor: type[Actor], name: str, config: Any, definitions: list[Any]) -> None:
        self.actor = actor
        self.name = name
        self.config = config
        self.definitions = definitions

    def codec(self, schema: Any) -> ValueCodec:
        validator: Any
        serializer: Any
        if _has(schema, "with-info"):
            validator = _FieldValidator(self.name, self._alone(schema), self.config)
        else:
            validator = SchemaValidator(self._defined(schema), self.config)
        if _has_field_serializer(schema):
            serializer = _FieldSerializer(self.actor, self.name, self._model(schema))
        else:
            serializer = SchemaSerializer(self._defined(schema), self.config)
        shape = shape_of(schema, self.definitions, self.config)
        if float in shape.exact and self.config.get("strict"):
            validator = _StrictFloat(validator)
        return ValueCodec(validator, serializer, shape)

    def _defined(self, schema: Any) -> Any:
        if not self.definitions:
            return schema
        return {"type": "definitions", "schema": schema, "definitions": self.definitions}

    def _alone(self, schema: Any) -> Any:
        field = {"type": "model-field", "schema": schema}
        return self._defined({"type": "model-fields", "fields": {self.name: field}})

    def _model(self, schema: Any) -> Any:
        field = {"type": "model-field", "schema": schema}
        fields = {"type": "model-fields", "fields": {self.name: field}}
        return self._defined(
            {"type": "model", "cls": self.actor, "schema": fields, "config": self.config}
        )


class _FieldValidator:
    """Validates one field whose validators ask for `info`: its `data` is empty."""

    def __init__(self, name: str, schema: Any, config: Any) -> None:
        self._name = name
        self._before = f'{{"{name}":'.encode()
        self._validator = SchemaValidator(schema, config)

    def validate_python(self, value: Any) -> Any:
        return self._validator.validate_python({self._name: value})[0][self._name]

    def validate_json(self, data: bytes) -> Any:
        return self._validator.validate_json(self._before + data + b"}")[0][self._name]


class _StrictFloat:
    """Validates a strict float, and reads NaN and the infinities, which JSON has as texts only."""

    def __init__(self, validator: SchemaValidator) -> None:
        self._validator = validator

    def validate_python(self, value: Any) -> Any:
        return self._validator.validate_python(value)

    def validate_json(self, data: bytes, *, strict: bool | None = None) -> Any:
        is_text = data in _NOT_FINITE
        return self._validator.validate_json(data, strict=False if is_text else strict)


class _FieldSerializer:
    """Writes one field that has a `@field_serializer`, which is a method of the actor."""

    def __init__(self, actor: type[Actor], name: str, schema: Any) -> None:
        self._actor = actor
        self._name = name
        self._before = len(f'{{"{name}":'.encode())
        self._serializer = SchemaSerializer(schema)

    def to_json(self, value: Any, *, warnings: Any) -> bytes:
        holder = self._actor.model_construct()
        present = vars(holder)
        present.clear()
        present[self._name] = value
        return self._serializer.to_json(holder, warnings=warnings)[self._before : -1]


def _fields(actor: type[Actor]) -> tuple[dict[str, Any], Any, list[Any]]:
    """(fields, config, definitions) of the class's core schema, whatever is wrapped around them."""
    schema: Any = actor.__pydantic_core_schema__
    definitions: list[Any] = []
    config: Any = None
    while schema["type"] != "model-fields":
        if schema["type"] == "definitions":
            definitions = schema["definitions"]
        if schema["type"] == "definition-ref":
            wanted = schema["schema_ref"]
            schema = next(found for found in definitions if found.get("ref") == wanted)
            continue
        if schema["type"] == "model":
            config = schema.get("config")
        schema = schema["schema"]
    return schema["fields"], config, definitions


def _is_log(annotation: Any) -> bool:
    return annotation is Log or getattr(annotation, "__origin__", None) is Log


def _items_of(schema: Any) -> Any:
    """The schema of the items, inside that of a Log, however it is wrapped."""
    while schema["type"] != "list":
        schema = next(schema[key] for key in _INNER if key in schema)
    return schema.get("items_schema", {"type": "any"})


def _has(schema: Any, kind: str) -> bool:
    """Whether a part of a core schema is of this type; references are not followed."""
    return any(part.get("type") == kind for part in parts_of(schema))


def _has_field_serializer(schema: Any) -> bool:
    return any(
        part.get("serialization", {}).get("is_field_serializer") for part in wrappers_of(schema)
    )
