"""A long queue costs rows: nothing in memory stands for a task that waits."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from everstep import Actor, Runtime, step
from everstep.actors.ledger import Ledger
from everstep.supervisor.life import Life
from tests.runtime.kit import Place
from tests.runtime.pools import existing

MANY = 1500
AT_ONCE = 3
PAGE = 64
LANES = 300


class Weighing(Actor, name="long_queues.Weighing"):
    """Looks from time to time, while it runs, at what exists."""

    begun: ClassVar[int] = 0
    seen: ClassVar[list[tuple[int, int, int]]] = []

    @step
    async def weigh(self) -> None:
        Weighing.begun += 1
        if Weighing.begun % 250 == 0:
            Weighing.seen.append(
                (len(existing(Life)), len(existing(Ledger)), len(asyncio.all_tasks()))
            )


async def through(runtime: Runtime) -> None:
    """Return when all of them have ended."""
    for number in range(MANY):
        await runtime.task(str(number)).result()


async def test_a_long_queue_makes_no_objects_beyond_those_that_run() -> None:
    place = Place(None)
    Weighing.begun, Weighing.seen = 0, []
    others = len(existing(Life)), len(existing(Ledger))
    async with place.runtime(pool={"max_running": AT_ONCE, "rate": (1, 1e6)}) as runtime:
        for number in range(MANY):
            await runtime.start(Weighing(), id=str(number), lane=f"{number % LANES}")
        place.die()
    async with place.runtime(pool={"max_running": AT_ONCE}) as runtime:
        tasks = len(asyncio.all_tasks())
        await through(runtime)
    place.discard()

    assert len(Weighing.seen) >= MANY // 250
    assert max(lives for lives, _, _ in Weighing.seen) <= others[0] + AT_ONCE + PAGE
    assert max(ledgers for _, ledgers, _ in Weighing.seen) <= others[1] + AT_ONCE + PAGE
    assert max(tasks_then for _, _, tasks_then in Weighing.seen) <= tasks + 2 * (AT_ONCE + PAGE)
