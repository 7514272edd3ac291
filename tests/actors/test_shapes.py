"""What is read out of a core schema: of the type itself, not of what stands beside it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from everstep import Actor
from everstep.actors.schema import Schema
from everstep.actors.values import ValueCodec


class Typed(BaseModel):
    type: str = "text"
    schema_ref: str = "a"


class TypedTags(Typed):
    tags: set[str] = set()


class Preset(BaseModel):
    options: dict[str, Any] = Field(default={"type": "set", "a": [{"type": ["x"]}]})


@pytest.mark.parametrize("value", [Typed(type="image"), TypedTags(tags={"b"}), Preset()], ids=repr)
def test_a_model_may_have_a_field_called_type(value: BaseModel) -> None:
    codec = ValueCodec.of(type(value))

    data, _ = codec.settle(value, "x")

    assert codec.decode(data) == value
    assert codec.unordered is isinstance(value, TypedTags)


class Mail(Actor, name="shapes.Mail"):
    one: Typed = Typed()
    all: list[Typed] = []


def test_an_actor_may_have_fields_of_such_a_model() -> None:
    assert not any(codec.unordered for codec in Schema.of(Mail).fields.values())
