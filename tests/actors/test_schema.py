"""The schema of an actor: its stored state, and what its class gives, forbids and refuses."""

from typing import Any

import pytest
from pydantic import (
    ConfigDict,
    Field,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_serializer,
)

from everstep.actors.actor import Actor
from everstep.actors.errors import BadActor, NotValid, StateUnreadable
from everstep.actors.log import Log
from everstep.actors.schema import Schema, join, join_items, split, split_items
from everstep.actors.state import collect, encoded_state, open_view, place
from tests.actors.views_kit import FakeAnchor, Report, changes_of, opened


def test_a_field_that_the_state_lacks_gets_its_default() -> None:
    class Own(Actor):
        a: int
        b: list[int] = Field(default_factory=lambda: [1])
        c: str = "c"

    frame = Schema.of(Own).frame({"a": b"1"})

    assert encoded_state(frame) == {"a": b"1", "b": b"[1]", "c": b'"c"'}
    with pytest.raises(StateUnreadable, match=r"'a'.*gives it no default"):
        Schema.of(Own).frame({})


def test_a_field_that_the_class_lacks_is_unreadable() -> None:
    with pytest.raises(StateUnreadable, match=r"'gone' of the actor 'Report'.*@upcast"):
        Schema.of(Report).frame({"gone": b"1"})


def test_a_value_that_is_none_of_the_field_is_unreadable_when_it_is_read() -> None:
    schema = Schema.of(Report)
    with pytest.raises(StateUnreadable, match="'count'"):
        schema.frame({"count": b'"many"'})

    view: Any = open_view(schema, schema.frame({"items": b'["a"]'}), FakeAnchor(), family=None)
    with pytest.raises(StateUnreadable, match="'items'"):
        _ = view.items
    place(view, {}, {"points": [b'{"x":"many"}']}, 1, "load")
    with pytest.raises(StateUnreadable, match="'points'"):
        _ = view.points[0]


def test_a_start_is_validated_and_checked() -> None:
    actor = Report()
    actor.score = 1
    assert Schema.of(Report).dump(actor)[0]["score"] == b"1.0"
    actor.count = "x"  # type: ignore[assignment]  # that is the point
    with pytest.raises(NotValid):
        Schema.of(Report).dump(actor)


def test_what_the_caller_gave_is_compared_by_value() -> None:
    def given(**fields: Any) -> str:
        return Schema.of(Report).given(Report(**fields))

    assert given(topic="x", tags={"a", "b"}) == given(tags={"b", "a"}, topic="x")
    assert given(score=1) == given(score=1.0)
    assert given(topic="x") != given(topic="y")
    assert given(topic="t") != given()
    assert given(notes=Log(["a"])) != given(notes=Log(["b"]))
    assert given(topic="a" * 100_000) != given(topic="b" * 100_000)


class Special(Actor):
    model_config = ConfigDict(populate_by_name=True)

    upper: str = Field(default="", alias="Upper")
    hidden: int = Field(default=0, exclude=True)
    secret: list[int] = []
    checked: int = Field(default=0, ge=0)
    informed: list[int] = []

    @field_serializer("secret")
    def double(self, secret: list[int]) -> list[int]:
        return [2 * number for number in secret]

    @field_validator("secret", mode="before")
    @classmethod
    def halve(cls, value: Any) -> Any:
        return [number // 2 for number in value]

    @field_validator("informed")
    @classmethod
    def see(cls, value: list[int], info: ValidationInfo) -> list[int]:
        if info.data.get("checked") == 99 or 99 in value:
            raise ValueError("99")
        return value


def test_aliases_and_exclusion_do_not_touch_the_state_and_field_functions_hold() -> None:
    view = opened(Special.model_validate({"Upper": "x", "hidden": 5, "informed": [1]}))

    view.upper += "y"
    view.hidden += 1
    view.informed.append(2)
    assert changes_of(view) == {"upper": b'"xy"', "hidden": b"6", "informed": b"[1,2]"}
    view.informed.append(99)
    with pytest.raises(NotValid, match="99"):
        collect(view, owner="here")
    view.informed.pop()
    view.checked = -1
    with pytest.raises(NotValid):
        collect(view, owner="here")


def test_a_field_serializer_that_a_validator_undoes_is_used() -> None:
    class Undone(Actor):
        path: list[str] = []

        @field_serializer("path")
        def joined(self, path: list[str]) -> str:
            return "/".join(path)

        @field_validator("path", mode="before")
        @classmethod
        def parted(cls, value: Any) -> Any:
            return [part for part in value.split("/") if part] if isinstance(value, str) else value

    view = opened(Undone())
    view.path = ["a", "b"]

    assert changes_of(view) == {"path": b'"a/b"'}


def test_a_model_serializer_sees_the_whole_state() -> None:
    class Own(Actor):
        items: list[int] = [1]

        @model_serializer(mode="wrap")
        def wrapped(self, handler: Any) -> dict[str, Any]:
            return {**handler(self), "more": True}

    assert opened(Own()).model_dump() == {"items": [1], "more": True}


class Node(Actor):
    value: int = 0
    children: list["Node"] = []


def test_an_actor_may_name_itself_in_a_field() -> None:
    view = opened(Node(children=[Node(value=1)]))

    assert view.children[0].value == 1
    view.children[0].value = 2
    assert changes_of(view) == {"children": b'[{"value":2,"children":[]}]'}


def test_a_field_whose_type_is_nowhere_is_refused() -> None:
    class Lost(Actor):
        field: "Nowhere"  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(BadActor, match="Nowhere"):
        Schema.of(Lost)


# --- several values in one text ---------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"a": b"1"},
        {"a": b'"plain, ]}"', "b": b'""', "c": b'"\\\\"', "d": b'["\\""]'},
        {"a": b'"x,}]\\"\\u00fc"', "ü": '["ü",{"b":[]}]'.encode(), "c": b"-1.50e+10", "d": b"null"},
    ],
)
def test_values_are_joined_and_split_byte_for_byte(parts: dict[str, bytes]) -> None:
    assert split(join(parts)) == parts
    assert split_items(join_items({name: [data, data] for name, data in parts.items()})) == {
        name: [data, data] for name, data in parts.items()
    }


def test_nothing_splits_into_nothing() -> None:
    assert split(None) == {}
    assert split_items(None) == {}
    assert split_items(b'{"a":[],"b":[1]}') == {"a": [], "b": [b"1"]}
