"""State of an older version is lifted by upcasts, or is unreadable and says why."""

from typing import Any

import pytest

from everstep.actors.actor import Actor
from everstep.actors.errors import BadActor, BadCall, StateUnreadable
from everstep.actors.log import Log
from everstep.actors.schema import Schema
from everstep.actors.state import encoded_state
from everstep.actors.upcast import upcast


class Old(Actor, version=3):
    subject: str
    words: int = 0
    notes: Log[str] = Log()

    @upcast(1)
    @staticmethod
    def rename(state: dict[str, Any]) -> dict[str, Any]:
        state["subject"] = state.pop("topic")
        return state

    @staticmethod
    @upcast(2)
    def count(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "words": len(state["subject"].split())}


def test_state_of_an_older_version_is_lifted_step_by_step() -> None:
    schema = Schema.of(Old)

    assert encoded_state(schema.frame({"topic": b'"a b"'}, version=1)) == {
        "subject": b'"a b"',
        "words": b"2",
    }
    assert schema.lift({"subject": b'"\xc3\xbc"'}, 2) == {"subject": '"ü"'.encode(), "words": b"1"}
    assert schema.lift({"subject": b'"a"'}, 3) == {"subject": b'"a"'}


def test_state_that_cannot_be_lifted_is_unreadable() -> None:
    class Gap(Actor, version=3):
        @upcast(2)
        @staticmethod
        def lift(state: dict[str, Any]) -> dict[str, Any]:
            return state

    with pytest.raises(StateUnreadable, match=r"no @upcast\(1\)"):
        Schema.of(Gap).frame({}, version=1)
    with pytest.raises(StateUnreadable, match="has version 4"):
        Schema.of(Gap).frame({}, version=4)


def test_an_upcast_that_returns_no_state_makes_it_unreadable() -> None:
    class Wrong(Actor, version=3):
        value: int = 0

        @upcast(1)
        @staticmethod
        def nothing(state: dict[str, Any]) -> Any:
            return None

        @upcast(2)
        @staticmethod
        def no_json(state: dict[str, Any]) -> dict[str, Any]:
            return {"value": {1}}

    with pytest.raises(StateUnreadable, match=r"@upcast\(1\) returned NoneType"):
        Schema.of(Wrong).frame({}, version=1)
    with pytest.raises(StateUnreadable, match=r"'value'.*made no JSON"):
        Schema.of(Wrong).frame({}, version=2)


@pytest.mark.parametrize("version", [0, True, "1", None])
def test_an_upcast_starts_from_a_version(version: Any) -> None:
    with pytest.raises(BadCall, match="from_version"):
        upcast(version)


def test_upcasts_that_cannot_be_right_are_refused() -> None:
    class Late(Actor, version=2):
        @upcast(2)
        @staticmethod
        def lift(state: dict[str, Any]) -> dict[str, Any]:
            return state

    class Twice(Actor, version=2):
        @upcast(1)
        @staticmethod
        def one(state: dict[str, Any]) -> dict[str, Any]:
            return state

        @upcast(1)
        @staticmethod
        def other(state: dict[str, Any]) -> dict[str, Any]:
            return state

    with pytest.raises(BadActor, match="version=3"):
        Schema.of(Late)
    with pytest.raises(BadActor, match="one and other"):
        Schema.of(Twice)
