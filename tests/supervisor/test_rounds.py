"""Rounds go on while there is a reason, and never end unheard."""

from __future__ import annotations

import asyncio

import pytest

from everstep.supervisor.rounds import Rounds


async def nothing() -> None: ...


async def test_a_round_that_fails_is_the_last_and_is_told() -> None:
    async def fail() -> None:
        raise ValueError("no way")

    told: list[Exception] = []
    rounds = Rounds(fail, told.append)
    rounds.start("rounds")
    await rounds.ended()

    assert [str(one) for one in told] == ["no way"]


async def test_a_fault_between_two_rounds_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(_: object) -> None:
        raise MemoryError

    told: list[Exception] = []
    rounds = Rounds(nothing, told.append)
    monkeypatch.setattr(asyncio.Event, "clear", fault)
    rounds.start("rounds")
    await rounds.ended()

    assert [type(one) for one in told] == [MemoryError]


async def test_rounds_that_are_cancelled_have_not_failed() -> None:
    told: list[Exception] = []
    rounds = Rounds(nothing, told.append)
    rounds.start("rounds")
    await asyncio.sleep(0)
    rounds.cancel()
    await rounds.ended()

    assert told == []
