"""A Log only grows; attached to a running actor it costs what is appended."""

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from everstep.actors.errors import NotSerializable, NotValid
from everstep.actors.log import LIVE, UNNUMBERED, Backing, Item, Log, LogField, LogView
from everstep.actors.values import ValueCodec


class Point(BaseModel):
    x: int
    tags: list[str] = []


def attached(annotation: Any, *values: Any) -> tuple[Log[Any], LogView]:
    """A log that stands on a backing of these values."""
    field = LogField("Report", "notes", ValueCodec.of(annotation))
    items = [Item(field.item(value).data) for value in values]
    view = LogView(field, Backing().add(UNNUMBERED, items))
    return Log[Any].standing_on(view), view


@pytest.fixture(params=["alone", "attached"])
def log(request: pytest.FixtureRequest) -> Log[int]:
    if request.param == "alone":
        return Log([0, 1, 2, 3])
    other: Log[int] = attached(int, 0, 1)[0]
    other.extend([2])
    other.append(3)
    return other


def test_it_reads_like_a_list(log: Log[int]) -> None:
    assert len(log) == 4
    assert (log[0], log[-1], log[2]) == (0, 3, 2)
    assert (log[1:3], log[-2:], log[::-1]) == ([1, 2], [2, 3], [3, 2, 1, 0])
    assert list(log) == list(reversed(list(reversed(log)))) == [0, 1, 2, 3]
    assert 2 in log
    assert 9 not in log
    assert (log.index(2), log.count(1)) == (2, 1)
    assert log == [0, 1, 2, 3]
    assert log == Log([0, 1, 2, 3])
    assert log != Log([0])
    assert log != (0, 1, 2, 3)
    assert repr(log) == "Log([0, 1, 2, 3])"
    for index in (4, -5):
        with pytest.raises(IndexError):
            _ = log[index]


def test_it_has_nothing_that_changes_what_is_in_it(log: Log[int]) -> None:
    for name in ("__setitem__", "__delitem__", "insert", "pop", "remove", "clear", "sort"):
        assert not hasattr(log, name)
    with pytest.raises(TypeError):
        hash(log)
    assert not isinstance(log, list)


def test_a_copy_is_a_log_of_its_own(log: Log[int]) -> None:
    pickled: Log[int] = pickle.loads(pickle.dumps(log))
    for copied in (copy.copy(log), copy.deepcopy(log), pickled):
        copied.append(4)
        assert type(copied) is Log
        assert list(copied) == [0, 1, 2, 3, 4]
    assert len(log) == 4


def test_iterating_sees_what_is_appended_meanwhile(log: Log[int]) -> None:
    seen: list[int] = []
    for item in log:
        seen.append(item)
        if item < 3:
            log.append(item + 10)

    assert seen == [0, 1, 2, 3, 10, 11, 12]


def test_a_long_log_is_shown_in_short() -> None:
    assert repr(Log(range(25))).endswith("19, … 5 more])")


def test_pydantic_reads_and_writes_it_as_a_list() -> None:
    adapter = TypeAdapter(Log[Point])

    assert adapter.validate_json(b'[{"x":1}]') == Log([Point(x=1)])
    assert adapter.validate_python([{"x": 1}]) == Log([Point(x=1)])
    assert adapter.validate_python(Log([Point(x=1)])) == Log([Point(x=1)])
    assert adapter.dump_json(Log([Point(x=1)])) == b'[{"x":1,"tags":[]}]'
    with pytest.raises(ValidationError):
        adapter.validate_python("text")
    with pytest.raises(ValidationError):
        adapter.validate_python([{"x": "a"}])


# --- attached to the state of a running actor -------------------------------------------


def test_an_item_is_written_when_it_is_appended() -> None:
    log, view = attached(Point)
    point = Point(x=1)

    log.append(point)
    point.tags.append("late")

    assert log[0] == Point(x=1)
    assert log[0] is log[0]
    assert log[0] is not point
    assert view.changed_items() == [0]


def test_an_item_that_was_read_and_changed_is_found() -> None:
    log, view = attached(Point, Point(x=1), Point(x=2))

    _ = log[0], log[1]
    assert view.changed_items() == []
    log[1].tags.append("late")

    assert view.changed_items() == [1]
    assert [item.data for item in view.backing] == [b'{"x":1,"tags":[]}', b'{"x":2,"tags":[]}']


def test_views_do_not_see_what_others_do_to_items() -> None:
    log, view = attached(Point, Point(x=1))
    other = Log[Any].standing_on(LogView(view.field, view.backing))

    log[0].tags.append("mine")
    log.append(Point(x=2))

    assert other == [Point(x=1)]


def test_an_item_that_cannot_be_stored_is_refused_by_name_and_nothing_is_appended() -> None:
    log, _ = attached(Any)

    with pytest.raises(NotSerializable, match="an item of the field 'notes' of Report"):
        log.append(object())
    with pytest.raises(NotSerializable):
        log.extend(["fine", (1, 2)])

    assert len(log) == 0


def test_an_item_of_another_type_is_validated() -> None:
    log, _ = attached(float)

    log.append(1)

    assert repr(log) == "Log([1.0])"
    with pytest.raises(NotValid):
        log.append("a")


def test_immutable_items_are_shared_and_not_decoded_again() -> None:
    log, view = attached(str, "a" * 50)
    other = Log[Any].standing_on(LogView(view.field, view.backing))

    assert log[0] is other[0]


# --- backings against a plain model -----------------------------------------------------


class Model:
    """What a backing is: items with numbers, in a list that is copied each time."""

    def __init__(self, items: list[tuple[float, int]]) -> None:
        self.items = items

    def add(self, number: float, values: list[int]) -> "Model":
        place = len(self.items)
        if number != UNNUMBERED:
            higher = [at for at, (there, _) in enumerate(self.items) if there > number]
            place = min(higher, default=place)
        new = [(number, value) for value in values]
        return Model([*self.items[:place], *new, *self.items[place:]])


NUMBERS = st.integers(1, 6).map(float) | st.sampled_from([UNNUMBERED, LIVE])
ADDITIONS = st.lists(
    st.tuples(st.integers(0, 30), NUMBERS, st.lists(st.integers(0, 9), max_size=3)), max_size=30
)


@given(ADDITIONS)
def test_every_backing_ever_made_keeps_its_items(
    additions: list[tuple[int, float, list[int]]],
) -> None:
    made: list[tuple[Backing, Model]] = [(Backing(), Model([]))]
    values: dict[int, int] = {}
    for which, number, new in additions:
        backing, model = made[which % len(made)]
        items = [Item(str(value).encode()) for value in new]
        values |= {id(item): value for item, value in zip(items, new, strict=True)}
        made.append((backing.add(number, items), model.add(number, new)))

    for backing, model in made:
        assert len(backing) == len(model.items)
        assert [int(item.data) for item in backing] == [value for _, value in model.items]
        assert [int(backing[at].data) for at in range(len(backing))] == [
            value for _, value in model.items
        ]


@given(ADDITIONS)
def test_what_a_backing_has_since_another_are_the_items_that_it_lacks(
    additions: list[tuple[int, float, list[int]]],
) -> None:
    backing = Backing()
    base = backing
    for at, (which, number, new) in enumerate(additions):
        backing = backing.add(number, [Item(str(value).encode()) for value in new])
        if which % 3 == 0 and at < len(additions) // 2:
            base = backing

    before = set(map(id, base))
    assert backing.since(base) == [item for item in backing if id(item) not in before]


def test_adding_at_the_end_copies_nothing() -> None:
    backing = Backing([Item(b"1")])

    longer = backing.add(LIVE, [Item(b"2")])
    other = backing.add(LIVE, [Item(b"3")])

    assert longer.continues(backing)
    assert not other.continues(longer)
    assert not other.continues(backing)
    assert [item.data for item in other] == [b"1", b"3"]
    assert [item.data for item in backing] == [b"1"]


def test_a_log_that_goes_over_to_a_backing_with_items_in_between_reads_them() -> None:
    log, view = attached(Point)
    view.stand_on(view.backing.add(5, [Item(b'{"x":5}')]), 0)
    assert log[0].x == 5

    view.stand_on(view.backing.add(3, [Item(b'{"x":3}')]), 0)

    assert [point.x for point in log] == [3, 5]
