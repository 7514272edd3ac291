"""What a view changed: collected by field, validated, limited in size."""

from typing import Any

import pytest
from pydantic import JsonValue

from everstep import Actor
from everstep.actors.errors import BadActor, NotSerializable, NotValid, PayloadTooLarge
from everstep.actors.log import Log
from everstep.actors.schema import Schema
from everstep.actors.state import (
    adopt,
    collect,
    encoded_state,
    frame_of,
    open_view,
    rebase,
)
from everstep.actors.values import Limits
from tests.actors.views_kit import FULL, FakeAnchor, Point, Report, changes_of, opened


def test_a_view_that_was_only_read_has_changed_nothing() -> None:
    view = opened(FULL)

    view.model_dump()
    view.topic = view.topic
    view.items = view.items

    assert not collect(view, owner="here")


def test_assigned_and_mutated_fields_are_changes() -> None:
    view = opened(FULL)

    view.count += 1
    view.items.append(3)
    view.tree["a"].append(2)
    view.point.tags.append("q")
    view.maybe = None

    assert changes_of(view) == {
        "count": b"1",
        "items": b"[1,2,3]",
        "tree": b'{"a":[1,2]}',
        "point": b'{"x":5,"tags":["p","q"]}',
        "maybe": b"null",
    }


def test_a_set_that_is_written_in_another_order_is_not_changed() -> None:
    view = open_view(
        Schema.of(Report),
        Schema.of(Report).frame({"tags": b'["b","a","d","c","f","e"]'}),
        FakeAnchor(),
        family=None,
    )

    assert isinstance(view, Report)
    assert view.tags == {"a", "b", "c", "d", "e", "f"}
    assert not changes_of(view)
    view.tags.discard("a")
    assert list(changes_of(view)) == ["tags"]


def test_only_what_was_appended_to_a_log_is_a_change() -> None:
    view = opened(FULL)

    view.notes.append("m")
    view.points.extend([Point(x=8), Point(x=9)])
    changes = collect(view, owner="here")

    assert changes.encoded() == (
        None,
        b'{"notes":["m"],"points":[{"x":8,"tags":[]},{"x":9,"tags":[]}]}',
        62,
    )


def test_a_changed_field_is_validated_and_has_the_declared_type() -> None:
    view = opened()

    view.score = 1
    view.items = (1, 2)
    view.point = {"x": 3}

    assert changes_of(view) == {
        "score": b"1.0",
        "items": b"[1,2]",
        "point": b'{"x":3,"tags":[]}',
    }
    view.count = "many"
    with pytest.raises(NotValid):
        collect(view, owner="here")


def test_a_changed_field_that_would_not_come_back_is_refused_by_name() -> None:
    class Wider(Point):
        z: int = 1

    view = opened()
    view.point = Wider(x=1)

    with pytest.raises(NotSerializable, match="the field 'point' of Report"):
        collect(view, owner="here")


def test_a_replaced_log_is_refused() -> None:
    view = opened()
    view.notes = Log(["other"])

    with pytest.raises(BadActor, match=r"self.notes.append"):
        collect(view, owner="here")


def test_sizes_are_limited() -> None:
    limits = Limits(value=50, state=400)
    view = opened()

    view.topic = "a" * 60
    with pytest.raises(PayloadTooLarge, match="the field 'topic'"):
        collect(view, owner="here", limits=limits)
    view.topic = "t"
    view.notes.append("a" * 60)
    with pytest.raises(PayloadTooLarge, match="an item of the field 'notes'"):
        collect(view, owner="here", limits=limits)

    small = Limits(value=50, state=frame_of(view).size)
    other = opened()
    other.count = 10
    with pytest.raises(PayloadTooLarge, match="the state of Report"):
        collect(other, owner="here", limits=small)
    with pytest.raises(PayloadTooLarge, match="the state of Report"):
        Schema.of(Report).dump(Report(), Limits(state=10))


def test_the_size_of_a_frame_is_that_of_its_bytes() -> None:
    view = opened(FULL)
    view.items.append(5)
    rebase(view, collect(view, owner="here"))

    state = encoded_state(view)
    assert frame_of(view).size == sum(map(len, state.values()))
    assert state == encoded_state(frame_of(view))
    assert set(state) == set(Report.model_fields) - {"notes", "points"}


def test_aliased_fields_are_two_values() -> None:
    view = opened()
    view.tree["a"] = view.items
    view.items.append(1)

    above = opened()
    base = frame_of(above)
    changes = collect(view, owner="here")
    adopt(above, base, changes, "load")
    above.items.append(2)

    assert above.tree == {"a": [1]}


def test_two_immutable_values_that_change_places_are_changes() -> None:
    class Swapped(Actor):
        left: JsonValue = []
        right: JsonValue = []

    view: Any = opened(Swapped())
    _ = view.right, view.left  # touched in another order than they are declared
    for name in ("left", "right"):
        setattr(view, name, name)
        rebase(view, collect(view, owner="here"))

    view.left, view.right = view.right, view.left

    assert changes_of(view) == {"left": b'"right"', "right": b'"left"'}
