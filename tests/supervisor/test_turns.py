"""Nobody waits for ever, however many lanes there are: looks at real tables, one slot at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from everstep.supervisor.lanes import Turns, allot
from tests.storage.queued import Queued

LIMIT = 8


class Pool:
    """One slot, given away again and again; nobody keeps it."""

    def __init__(self) -> None:
        self.tasks = Queued()
        self._turns = Turns()

    def serve(self) -> str | None:
        """Let the next task in; its lane."""
        page = self.tasks.page(turns=self._turns.windows, limit=LIMIT, deep=1)
        self._turns.looked(page)
        ((priority, lane),) = allot(page.queues, 1, running={}, cap=None, since=self._turns.since)
        self._turns.served(lane)
        self.tasks.take(priority, lane)
        return lane


def until_served(pool: Pool, lane: str, times: int, meanwhile: Callable[[int], object]) -> int:
    """How many slots are given away until this lane has had so many of them."""
    number = 0
    while times:
        number += 1
        meanwhile(number)
        times -= pool.serve() == lane
        assert number < 2000
    return number


def test_lanes_take_turns_whatever_they_have_queued() -> None:
    pool = Pool()
    pool.tasks.add(*[(0, "many")] * 50, *[(0, "few")] * 3, *[(0, None)] * 3)

    assert [pool.serve() for _ in range(10)] == ["many", "few", None] * 3 + ["many"]


@pytest.mark.parametrize("others", [3, 100], ids=["all fit", "a window"])
def test_a_lane_gets_its_turns_although_a_new_lane_comes_with_each_task(others: int) -> None:
    pool = Pool()
    pool.tasks.add(*[(0, f"old {number}") for number in range(others)], *[(0, "patient")] * 3)

    slots = until_served(pool, "patient", 3, lambda number: pool.tasks.add((0, f"new {number:05}")))

    assert slots <= 3 * (others + 1) * LIMIT


def test_every_lane_of_very_many_is_served_in_each_round_of_windows() -> None:
    pool = Pool()
    lanes = [f"{number:03}" for number in range(60)]
    pool.tasks.add(*[(0, lane) for lane in lanes] * 20)

    served = [pool.serve() for _ in range(600)]

    counts = [served.count(lane) for lane in lanes]
    assert sum(counts) == 600
    assert min(counts) >= 8
    assert max(counts) <= 12
