"""Reads that meet share a hop to the reading thread; each gets its own answer."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from everstep.storage.sqlite.hops import NAME, Hops

T = TypeVar("T")


class Slow:
    """An executor whose hops end when they are told to."""

    def __init__(self) -> None:
        self.hops = 0
        self.broken: BaseException | None = None
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.connection = sqlite3.connect(":memory:")

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        self.hops += 1
        self.begun.set()
        await self.go_on.wait()
        if self.broken is not None:
            raise self.broken
        return function(self.connection)

    async def reopen(self) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        self.connection.close()


@pytest.fixture
def slow() -> Iterator[Slow]:
    made = Slow()
    yield made
    made.connection.close()


def reading(number: int) -> Callable[[sqlite3.Connection], Any]:
    return lambda connection: connection.execute("SELECT ?", (number,)).fetchone()[0]


def wrong(connection: sqlite3.Connection) -> Any:
    return connection.execute("SELECT nothing")


async def asked(hops: Hops, *reads: Callable[[sqlite3.Connection], Any]) -> list[asyncio.Task[Any]]:
    """Reads that were asked for in this order."""
    tasks = [asyncio.create_task(hops.run(read)) for read in reads]
    await asyncio.sleep(0)
    return tasks


async def test_reads_that_meet_share_a_hop_and_get_their_own_answers(slow: Slow) -> None:
    hops = Hops(slow)
    tasks = await asked(hops, *(reading(n) for n in range(10)))
    await slow.begun.wait()
    slow.go_on.set()

    assert await asyncio.gather(*tasks) == list(range(10))
    assert slow.hops == 2  # the first goes at once


async def test_a_read_that_meets_nobody_goes_at_once(slow: Slow) -> None:
    hops = Hops(slow)
    slow.go_on.set()

    assert [await hops.run(reading(n)) for n in range(3)] == [0, 1, 2]
    assert slow.hops == 3


async def test_a_read_that_fails_fails_for_its_caller_alone(slow: Slow) -> None:
    hops = Hops(slow)
    tasks = await asked(hops, wrong, reading(1), wrong, reading(2))
    slow.go_on.set()
    answers = await asyncio.gather(*tasks, return_exceptions=True)

    assert [answers[1], answers[3]] == [1, 2]
    assert [type(answers[0]), type(answers[2])] == [sqlite3.OperationalError] * 2


async def test_a_hop_that_fails_fails_for_all_who_are_on_it(slow: Slow) -> None:
    hops = Hops(slow)
    slow.broken = sqlite3.OperationalError("the database is not open")
    tasks = await asked(hops, reading(0), reading(1), reading(2))
    slow.go_on.set()

    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert {str(answer) for answer in answers} == {"the database is not open"}
    slow.broken = None
    assert await hops.run(reading(3)) == 3


async def test_a_fault_that_ends_the_hops_is_told_to_all_who_wait(slow: Slow) -> None:
    class Fault(BaseException):
        pass

    hops = Hops(slow)
    slow.broken = Fault()
    tasks = await asked(hops, *(reading(n) for n in range(100)))  # more than one hop takes
    slow.go_on.set()

    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(answer) for answer in answers} == {Fault}
    slow.broken = None
    assert await hops.run(reading(3)) == 3


@pytest.mark.parametrize("cancelled", [0, 1])
async def test_a_caller_that_is_cancelled_takes_nobody_along(slow: Slow, cancelled: int) -> None:
    hops = Hops(slow)
    tasks = await asked(hops, reading(0), reading(1), reading(2))
    tasks[cancelled].cancel()
    await asyncio.sleep(0)
    slow.go_on.set()
    answers = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(answers.pop(cancelled), asyncio.CancelledError)
    assert answers == [n for n in range(3) if n != cancelled]


async def test_where_the_loop_ends_nobody_waits_for_ever(slow: Slow) -> None:
    hops = Hops(slow)
    tasks = await asked(hops, reading(0), reading(1), reading(2))
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(answer) for answer in answers] == [asyncio.CancelledError] * 3


class Ending(Slow):
    """After its first hop the loop ends what shares hops, before that has begun."""

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        answer = await super().run(function)
        if self.hops == 1:
            asyncio.get_running_loop().call_soon(self.end)
        return answer

    def end(self) -> None:
        for task in asyncio.all_tasks():
            if task.get_name() == NAME:
                task.cancel()


async def test_where_the_loop_ends_a_shared_hop_before_it_began_nobody_waits_for_ever() -> None:
    ending = Ending()
    hops = Hops(ending)
    first, second = await asked(hops, reading(0), reading(1))
    ending.go_on.set()

    assert await first == 0
    with pytest.raises(asyncio.CancelledError):
        await second
    assert await hops.run(reading(2)) == 2
    await ending.close()
