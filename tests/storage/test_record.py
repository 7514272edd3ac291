"""Records whose methods are shared behave as frozen dataclasses do."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, field, replace
from typing import Any

import pytest

from everstep.storage.record import record


@record
class Opened:
    """Something is open."""

    id: str
    number: int = 0


@record
class Closed:
    """Something is closed, with the same fields."""

    id: str
    number: int = 0


@record
class Empty:
    """Nothing is said."""


@record
class Policy:
    """What a user makes."""

    limit: int
    seen: object = field(default=None, compare=False, repr=False)


def test_records_of_one_kind_are_equal_by_their_values() -> None:
    assert Opened("a", 1) == Opened("a", 1)
    assert Opened("a", 1) != Opened("a", 2)
    assert Empty() == Empty()


def test_records_of_different_kinds_are_never_equal() -> None:
    closed: object = Closed("a")

    assert Opened("a") != closed
    assert len({Opened("a"), Opened("a"), Closed("a"), Empty()}) == 3


def test_a_field_that_is_not_compared_is_left_out() -> None:
    assert Policy(1, seen=[]) == Policy(1)
    assert hash(Policy(1, seen=[])) == hash(Policy(1))


def test_a_record_shows_its_fields_but_for_those_that_are_not_to_be_shown() -> None:
    assert repr(Opened("a", 1)) == "Opened(id='a', number=1)"
    assert repr(Policy(1, seen="x")) == "Policy(limit=1)"
    assert repr(Empty()) == "Empty()"


def test_a_record_that_holds_itself_can_be_shown() -> None:
    around: list[object] = []
    around.append(Opened("a", number=around))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert repr(around) == "[Opened(id='a', number=[...])]"


def test_a_record_refuses_to_be_changed() -> None:
    policy: Any = Policy(1)

    with pytest.raises(FrozenInstanceError):
        policy.limit = 2
    with pytest.raises(FrozenInstanceError):
        del policy.limit


@pytest.mark.parametrize("one", [Opened("a", 1), Policy(1), Empty()])
def test_a_record_survives_pickling(one: object) -> None:
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_record_is_matched_and_replaced_as_a_dataclass() -> None:
    match replace(Opened("a", 1), number=2):
        case Opened(name, number):
            assert (name, number) == ("a", 2)
