"""The state machine by itself: what is stale, or comes too late, is dropped."""

import asyncio
from typing import Any

import pytest

from everstep import Child, NoProc, Restart, Supervisor, fixed
from everstep.supervisor.services.calls import Machine
from everstep.supervisor.services.exits import DOWN, Exit
from everstep.supervisor.services.messages import (
    Again,
    Begin,
    Call,
    Due,
    End,
    Exited,
    Halt,
    NotStarted,
    Reply,
    Start,
    Started,
    Stop,
    TerminateChild,
)

CRASH = Exit("crash")


def machine(**options: Any) -> Machine:
    """A supervisor of a, b and c, each in its first life: 1, 2 and 3."""
    children = [Child(asyncio.sleep, id=name) for name in "abc"]
    made = Machine(Supervisor("root", children=children, **options), "root", 1, lambda: 1.0)
    made.handle(Begin(), 0.0)
    for number, name in enumerate("abc", 1):
        made.handle(Started(name, number), 0.0)
    return made


def orders(made: Machine, message: Any) -> list[Any]:
    return [one for one in made.handle(message, 1.0) if isinstance(one, Start | Stop | End | Reply)]


@pytest.mark.parametrize(
    "stale",
    [
        Exited("b", 2, CRASH),
        NotStarted("b", 2, CRASH),
        Started("b", 2),
        Again("b", 2),
        Due("b", 2),
        Exited("nobody", 1, CRASH),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_an_earlier_life_has_left_behind_is_dropped(stale: Any) -> None:
    made = machine(strategy="one_for_all", restart=Restart(1))
    made.handle(Exited("b", 2, CRASH), 0.5)
    for name, number in (("c", 3), ("a", 1)):
        made.handle(Exited(name, number, DOWN), 0.5)
    for number, name in enumerate("abc", 4):
        made.handle(Started(name, number), 0.5)

    assert made.handle(stale, 1.0) == []
    assert [entry.status for entry in made.entries.values()] == ["up"] * 3
    assert made.window.count(1.0, 5.0) == 1


def test_a_backoff_that_ends_during_another_job_is_dealt_with_after_it() -> None:
    made = machine(restart=Restart(9, backoff=fixed(1)))
    made.handle(Exited("a", 1, CRASH), 0.0)
    terminating = orders(made, Call(7, TerminateChild("b")))
    assert terminating == [Stop("b", 5)]
    assert orders(made, Due("a", 1)) == []

    after = orders(made, Exited("b", 2, DOWN))

    assert [type(one) for one in after] == [Reply, Start]
    assert after[1].id == "a"


@pytest.mark.parametrize("late", [Exited("a", 1, CRASH), Due("a", 1), Again("a", 1)])
def test_nothing_is_started_once_the_end_is_ordered(late: Any) -> None:
    made = machine()
    assert orders(made, Halt(DOWN)) == [Stop("c", 5)]
    assert orders(made, late) == []

    assert orders(made, Call(7, TerminateChild("b")))[0].answer.__class__ is NoProc
    assert orders(made, Exited("c", 3, DOWN)) == [Stop("b", 5)]


def test_the_budget_is_decided_before_anything_is_stopped_or_started() -> None:
    made = machine(strategy="one_for_all", restart=Restart(0))

    assert orders(made, Exited("b", 2, CRASH)) == [Stop("c", 5)]
    assert made.ending is not None
