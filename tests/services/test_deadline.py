"""The time for a cleanup is not used up by a loop that somebody blocks."""

import asyncio
import time

import pytest

from everstep import Child, Supervisor, supervise
from everstep.supervisor.services.deadline import Deadline
from everstep.testing import ManualClock


class BlockedClock(ManualClock):
    """Fires its timers late: `lost` seconds have passed while the loop was blocked."""

    lost = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.lost


@pytest.mark.parametrize(("lost", "over_at"), [(0.0, 5.0), (0.005, 5.0), (2.0, 7.0), (60.0, 10.0)])
def test_a_deadline_is_put_off_by_what_was_lost_once_and_at_most_doubled(
    lost: float, over_at: float
) -> None:
    clock = BlockedClock()
    over: list[float] = []
    Deadline(clock, 5.0, lambda: over.append(clock.monotonic() - clock.lost))
    clock.lost = lost

    clock.advance(100)

    assert over == [over_at]


def test_a_deadline_that_is_cancelled_in_its_prolongation_calls_nothing() -> None:
    clock = BlockedClock()
    over: list[str] = []
    deadline = Deadline(clock, 5.0, lambda: over.append("over"))
    clock.lost = 3.0
    clock.advance(5)

    deadline.cancel()
    deadline.cancel()
    clock.advance(100)

    assert over == []


@pytest.mark.real
@pytest.mark.parametrize("nested", [False, True])
async def test_a_cleanup_that_blocked_the_loop_still_gets_its_time(nested: bool) -> None:
    log: list[str] = []

    async def blocking() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            time.sleep(0.4)  # noqa: ASYNC251  (blocks the loop, as it must not)
            await asyncio.sleep(0.01)
            log.append("cleaned up")

    child: Child | Supervisor = Child(blocking, shutdown=None if nested else 0.2)
    if nested:
        child = Supervisor("inner", shutdown=0.2, children=[child])
    async with supervise(Supervisor("root", children=[child])):
        await asyncio.sleep(0)

    assert log == ["cleaned up"]


@pytest.mark.real
async def test_a_child_that_blocks_the_loop_again_and_again_is_cut_off() -> None:
    turns = 0

    async def deaf() -> None:
        nonlocal turns
        while True:
            try:
                turns += 1
                time.sleep(0.03)  # noqa: ASYNC251  (as above)
                await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                pass

    async with supervise(Supervisor("root", children=[Child(deaf, shutdown=0.05)])):
        await asyncio.sleep(0)

    seen = turns
    await asyncio.sleep(0.01)
    assert turns == seen
