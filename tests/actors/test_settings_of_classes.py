"""However a class sets pydantic to write values, they come back, or are refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from everstep import Actor, Log, NotSerializable, NotValid
from everstep.actors.same import difference
from everstep.actors.schema import Schema
from everstep.actors.values import ValueCodec
from tests.actors.values_kit import NAN

INF = float("inf")
EARLY = datetime(1970, 1, 15, 12, 30, 1, 123456)

SETTINGS: dict[str, list[Any]] = {
    "ser_json_temporal": ["iso8601", "seconds", "milliseconds"],
    "val_temporal_unit": ["seconds", "milliseconds", "infer"],
    "ser_json_timedelta": ["iso8601", "float"],
    "ser_json_bytes": ["utf8", "base64", "hex"],
    "val_json_bytes": ["utf8", "base64", "hex"],
    "ser_json_inf_nan": ["strings"],
    "allow_inf_nan": [False, True],
    "coerce_numbers_to_str": [True],
    "str_strip_whitespace": [True],
    "str_to_lower": [True],
    "str_to_upper": [True],
    "str_max_length": [2],
    "strict": [True],
    "use_enum_values": [True],
    "revalidate_instances": ["always"],
    "polymorphic_serialization": [True],
}
CONFIGS: list[dict[str, Any]] = [
    *({name: value} for name, values in SETTINGS.items() for value in values),
    {"ser_json_temporal": "seconds", "val_temporal_unit": "milliseconds"},
    {"ser_json_temporal": "milliseconds", "val_temporal_unit": "milliseconds"},
]
VALUES: list[tuple[Any, Any]] = [
    (datetime, EARLY),
    (datetime, EARLY.replace(tzinfo=UTC)),
    (datetime, datetime(2024, 1, 1, tzinfo=UTC)),
    (list[datetime], [EARLY]),
    (dict[str, datetime], {"a": EARLY.replace(tzinfo=UTC)}),
    (date, date(1970, 1, 15)),
    (date | None, date(2024, 1, 15)),
    (time, time(1, 2, 3, 456)),
    (timedelta, timedelta(days=30_000, microseconds=1)),
    (bytes, b"\xff\x00"),
    (bytes, b"abcd"),
    (float, INF),
    (float | None, NAN),
    (list[float], [1e300, -0.0, INF]),
    (str, " aBc "),
    (dict[str, int], {" A ": 1}),
    (int, 5),
    (bool | None, None),
    (UUID, UUID(int=5)),
    (Decimal, Decimal("1.10")),
    (Any, {"A ": [1.5, " x "]}),
]


def made(base: type[BaseModel], config: dict[str, Any], **fields: Any) -> Any:
    """A class with this config and fields without defaults."""
    body = {"__module__": __name__, "__annotations__": fields, "model_config": config}
    return type("Made", (base,), body)


def codecs(annotation: Any, config: dict[str, Any]) -> list[tuple[ValueCodec, Callable[..., Any]]]:
    """How a field, a Log and a model of a class with this config write it, and what wraps it."""
    inner = made(BaseModel, config, value=annotation)
    lists: Any = list
    holder = made(Actor, config, value=annotation, items=Log[annotation], inner=lists[inner])

    def itself(value: Any) -> Any:
        return value

    def one(value: Any) -> Any:
        return inner.model_construct(value=value)

    def listed(value: Any) -> Any:
        return [one(value)]

    schema = Schema.of(holder)
    return [
        (schema.fields["value"], itself),
        (schema.log_fields["items"].codec, itself),
        (schema.fields["inner"], listed),
        (ValueCodec.of(inner), one),
    ]


def check(codec: ValueCodec, value: Any) -> bool:
    """Whether it was accepted. Fails where it does not come back as it was accepted."""
    try:
        valid = codec.validate(value)
        data, _ = codec.settle(value, "x")
    except (NotSerializable, NotValid, ValueError):
        return False
    assert difference(valid, codec.decode(data)) is None
    return True


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_value_comes_back_or_is_refused_whatever_the_class_sets(config: dict[str, Any]) -> None:
    for annotation, value in VALUES:
        for codec, wrapped in codecs(annotation, config):
            check(codec, wrapped(value))


def test_an_instant_that_comes_back_from_a_number_is_accepted() -> None:
    for codec, wrapped in codecs(datetime, {"ser_json_temporal": "seconds"}):
        assert check(codec, wrapped(EARLY.replace(tzinfo=UTC)))


@pytest.mark.parametrize("value", [INF, -INF, NAN, 1.5], ids=str)
def test_a_strict_float_may_be_any_float_and_no_text(value: float) -> None:
    for annotation in (float, float | None):
        for codec, _ in codecs(annotation, {"strict": True})[:2]:
            assert check(codec, value)
            assert not check(codec, "1.5") and not check(codec, "Infinity")
            with pytest.raises(ValidationError):
                codec.decode(b'"1.5"')


def test_all_settings_by_which_pydantic_writes_values_are_tried_here() -> None:
    chosen = {name for name in ConfigDict.__annotations__ if name.startswith(("ser_", "val_"))}

    assert chosen <= SETTINGS.keys()
