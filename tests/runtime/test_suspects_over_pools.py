"""A death concerns all tasks of the process: suspects wait for each other over all pools."""

import asyncio

from everstep import Pool, Restart, Runtime, Status, Supervisor, Task
from tests.runtime.kit import Gate, Place, Plain, Waiting, until

TREE = Supervisor("root", children=[Pool("one"), Pool("two")])


async def died_together(place: Place, gate: Gate, deaths: int) -> None:
    """Leave a task in each pool that took part in so many deaths."""
    for _ in range(deaths):
        gate.reached.clear()
        async with place.runtime(tree=TREE) as runtime:
            for pool in ("one", "two"):
                await runtime.start(Waiting(name=pool), id=pool, pool=pool)
                await gate.until(pool)
            place.die()
    gate.reached.clear()
    gate.order.clear()


async def first_in(runtime: Runtime, gate: Gate) -> tuple[Task[str], Task[str]]:
    """The suspect that is let in first, and the other one."""
    while not gate.order:
        await asyncio.sleep(0)
    first = gate.order[0]
    other = {"one": "two", "two": "one"}[first]
    return runtime.task(first, Waiting), runtime.task(other, Waiting)


async def test_suspects_of_different_pools_are_let_in_one_after_the_other(
    place: Place, gate: Gate
) -> None:
    await died_together(place, gate, 2)

    async with place.runtime(tree=TREE) as runtime:
        first, other = await first_in(runtime, gate)
        innocent = await runtime.start(Plain(), pool="one")
        assert await innocent.result() == "refunds: 2"
        assert (await other.status()).status is Status.QUEUED
        gate.open(first.id)
        await gate.until(other.id)
        gate.open(other.id)

        assert [await first.result(), await other.result()] == [first.id, other.id]


async def test_a_suspect_that_is_tried_alone_keeps_everybody_out_of_all_pools(
    place: Place, gate: Gate
) -> None:
    await died_together(place, gate, 2)
    async with place.runtime(tree=TREE) as runtime:  # beside another task: that is a brush
        first, _ = await first_in(runtime, gate)
        await runtime.start(Waiting(name="beside"), id="beside", pool="two")
        await gate.until("beside")
        place.die()
    gate.open("one", "two")  # with a brush, one checkpoint is not enough to be through
    gate.reached.clear()
    gate.order.clear()

    async with place.runtime(tree=TREE) as runtime:
        assert await runtime.task(first.id, Waiting).result() == first.id
        await gate.until("beside")
        came = list(gate.order)

    assert came[0] == first.id
    assert came.index("beside") > came.index(first.id)


async def test_a_pool_that_is_stopped_while_its_suspect_is_tried_lets_the_others_in(
    place: Place, gate: Gate
) -> None:
    await died_together(place, gate, 2)

    async with place.runtime(tree=TREE) as runtime:
        first, other = await first_in(runtime, gate)
        await runtime.tree.terminate_child(first.id)
        await gate.until(other.id)
        gate.open(other.id)
        assert await other.result() == other.id
        await until(first, lambda info: info.status is Status.QUEUED)


async def test_a_killer_is_found_alone_whatever_pool_it_is_in(place: Place, gate: Gate) -> None:
    restart = Restart(max_deaths=3)
    tree = Supervisor("root", children=[Pool("one", restart=restart), Pool("two", restart=restart)])
    gate.open("two")  # the task of pool one never passes its gate: it is the killer
    lives = 0
    while True:
        gate.reached.clear()
        async with place.runtime(tree=tree) as runtime:
            killer = await runtime.start(Waiting(name="one"), id="one", pool="one")
            neighbour = await runtime.start(Waiting(name="two"), id="two", pool="two")
            ended = asyncio.create_task(until(killer, lambda info: info.status is Status.FAILED))
            reached = asyncio.create_task(gate.until("one"))
            await asyncio.wait([ended, reached], return_when=asyncio.FIRST_COMPLETED)
            reached.cancel()
            if ended.done():
                assert await neighbour.result() == "two"
                break
            ended.cancel()
            place.die()
            lives += 1

    assert ended.result().deaths == 3
    assert lives <= 4
