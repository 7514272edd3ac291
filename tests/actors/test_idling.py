"""It is told when something has been idle for so long, with one timer for many times."""

from __future__ import annotations

from everstep.actors.idling import Idling
from everstep.testing import ManualClock


def idling(clock: ManualClock) -> tuple[Idling, list[float]]:
    told: list[float] = []
    return Idling(clock, 10, lambda: told.append(clock.monotonic())), told


def test_what_is_idle_for_so_long_is_told_once() -> None:
    clock = ManualClock()
    idle, told = idling(clock)
    began = clock.monotonic()
    idle.begins()
    clock.advance(9)
    assert told == []
    clock.advance(20)

    assert told == [began + 10]


def test_the_seconds_count_from_when_it_last_began() -> None:
    clock = ManualClock()
    idle, told = idling(clock)
    idle.begins()
    clock.advance(6)
    idle.ends()
    idle.begins()
    began = clock.monotonic()
    clock.advance(30)

    assert told == [began + 10]


def test_what_has_ended_is_not_told() -> None:
    clock = ManualClock()
    idle, told = idling(clock)
    idle.begins()
    idle.ends()
    clock.advance(30)
    idle.begins()
    idle.cancel()
    clock.advance(30)

    assert told == []
