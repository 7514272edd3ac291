"""Cancelled after any number of turns, entering and leaving a tree leak nothing."""

import asyncio
from typing import Any

import pytest

from everstep import Child, Pool, Status, Supervisor
from tests.runtime.kit import Gate, Place, Plain, Waiting

TURNS = 60


class Pair:
    """Two services around two pools, which say how many of them run."""

    def __init__(self) -> None:
        self.running = 0

    async def live(self, *, task_status: Any) -> None:
        self.running += 1
        try:
            await asyncio.sleep(0)
            task_status.started()
            await asyncio.get_running_loop().create_future()
        finally:
            self.running -= 1

    def tree(self) -> Supervisor:
        return Supervisor(
            "root",
            children=[
                Child(self.live, id="first"),
                Pool("one"),
                Supervisor("inner", children=[Pool("two"), Child(self.live, id="last")]),
            ],
        )


async def turn(turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def nothing_is_left(place: Place, pair: Pair, before: set[asyncio.Task[Any]]) -> None:
    """No task of ours goes on, and the store is free and whole."""
    while asyncio.all_tasks() - before:
        await asyncio.sleep(0)
    async with place.runtime(tree=pair.tree()) as runtime:
        assert await (await runtime.start(Plain(), pool="one")).result() == "refunds: 2"


@pytest.mark.parametrize("turns", range(0, TURNS, 3))
async def test_entering_that_is_cancelled_leaves_nothing_behind(place: Place, turns: int) -> None:
    pair = Pair()
    before = asyncio.all_tasks()

    async def enter() -> None:
        async with place.runtime(tree=pair.tree()):
            pass

    entering = asyncio.create_task(enter())
    await turn(turns)
    entering.cancel()
    await asyncio.wait([entering])

    assert pair.running == 0
    await nothing_is_left(place, pair, before)


@pytest.mark.parametrize("turns", range(1, TURNS, 3))
async def test_leaving_that_is_cancelled_gives_every_task_back(
    place: Place, gate: Gate, turns: int
) -> None:
    pair = Pair()
    before = asyncio.all_tasks()
    runtime = place.runtime(tree=pair.tree(), grace=60)
    await runtime.__aenter__()
    for pool in ("one", "two"):
        await runtime.start(Waiting(name=pool), id=pool, pool=pool)
        await gate.until(pool)

    leaving = asyncio.create_task(runtime.__aexit__(None, None, None))
    await turn(turns)
    leaving.cancel()
    await turn(3)
    leaving.cancel()  # the second time: no more grace
    await asyncio.wait([leaving])
    gate.open("one", "two")

    await nothing_is_left(place, pair, before)
    async with place.runtime(tree=pair.tree()) as again:
        for pool in ("one", "two"):
            assert await again.task(pool).result() == pool
            info = await again.task(pool).status()
            assert (info.status, info.crashes, info.deaths) == (Status.SUCCEEDED, 0, 0)
