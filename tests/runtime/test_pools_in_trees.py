"""A running pool as its tree shows it: with its numbers, its handle and its storms."""

import json
from dataclasses import asdict
from datetime import datetime

import pytest

from everstep import Child, NoProc, NotFound, Pool, Restart, Supervisor
from tests.runtime.kit import Gate, Place, Unsteady, Waiting, heard
from tests.runtime.pools import pool_of


async def test_a_pool_is_seen_in_its_tree_with_what_it_runs(place: Place, gate: Gate) -> None:
    tree = Supervisor("root", children=[Supervisor("in", children=[Pool("agents")])])

    async with place.runtime(tree=tree) as runtime:
        await runtime.start(Waiting(name="a"), lane="north")
        await gate.until("a")
        seen = runtime.tree.look()
        drawn = str(seen)
        inner = seen.children[0].supervisor
        assert inner is not None
        pool = inner.children[0].pool
        gate.open("a")

    assert pool is not None
    assert (pool.name, pool.running, pool.lanes) == ("agents", 1, {"north": 1})
    assert json.dumps(asdict(seen), default=datetime.isoformat)  # TypeError for a live object
    assert "agents" in drawn
    assert "running 1" in drawn


async def test_what_a_pool_shows_is_a_picture_of_one_moment(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"max_running": 2, "rate": (9, 60)}) as runtime:
        await runtime.start(Waiting(name="a"), lane="x")
        await gate.until("a")
        info = pool_of(runtime).info()
        await runtime.start(Waiting(name="b"))
        await runtime.start(Waiting(name="c"))
        await gate.until("b")

        assert (info.name, info.running, info.max_running, info.lanes) == ("tasks", 1, 2, {"x": 1})
        assert (info.storm, info.crashes, info.starts, info.suspects) == (None, 0, 1, ())
        assert info.next_look is None
        assert pool_of(runtime).info().lanes == {"x": 1, None: 1}
        gate.open("a", "b", "c")


async def test_only_a_pool_that_runs_has_a_handle(place: Place) -> None:
    async def live() -> None:
        await runtime.tree.wait()

    tree = Supervisor("root", children=[Pool("agents"), Child(live, id="service")])
    runtime = place.runtime(tree=tree)

    async with runtime:
        with pytest.raises(NotFound):
            runtime.tree.pool("service")
        await runtime.tree.terminate_child("agents")
        with pytest.raises(NoProc):
            runtime.tree.pool("agents")


async def test_storms_are_told_by_the_tree(place: Place) -> None:
    Unsteady.errors = [ValueError("one"), ValueError("two")]
    tree = Pool("agents", storm=(1, 60), restart=Restart(5))

    async with place.runtime(tree=tree) as runtime:
        began = heard(runtime, "storm_began", "agents")
        ended = heard(runtime, "storm_ended", "agents")
        task = await runtime.start(Unsteady())
        await began
        assert runtime.tree.pool("agents").info().storm is not None
        while not ended.done():
            await place.clock.until_waiting()
            place.clock.advance(10)
            await place.clock.sleep(0)

        assert await task.result() == "at last"
