"""What is read out of a core schema: of the type itself, not of what stands beside it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from everstep import Actor
from everstep.actors.schema import Schema
from everstep.actors.state import open_view
from everstep.actors.values import ValueCodec
from tests.actors.views_kit import FakeAnchor, changes_of


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


class Node(BaseModel):
    tags: set[str] = set()
    below: list[Node] = []


class Shelf(BaseModel):
    node: Node = Node()


class Cache(Actor, name="shapes.Cache"):
    """Its models are used twice, so that pydantic makes definitions of them."""

    recent: dict[str, int] = {"a": 1, "b": 2}
    plain: list[Typed] = []
    node: Node = Node()
    shelf: Shelf = Shelf()
    shelves: dict[str, Shelf] = {}
    also_plain: Typed = Typed()


def test_a_field_is_unordered_only_where_its_own_type_has_a_set_however_deep() -> None:
    unordered = {name for name, codec in Schema.of(Cache).fields.items() if codec.unordered}

    assert unordered == {"node", "shelf", "shelves"}


def test_the_order_of_a_dict_is_kept_beside_a_model_that_has_a_set() -> None:
    schema = Schema.of(Cache)
    view = open_view(schema, schema.frame({}), FakeAnchor(), family=None)
    assert isinstance(view, Cache)

    view.recent["a"] = view.recent.pop("a")

    assert changes_of(view) == {"recent": b'{"b":2,"a":1}'}
