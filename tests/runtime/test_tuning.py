"""Looking at a pool in its tree, and changing its policy while it runs."""

import asyncio
import json
from dataclasses import asdict

import pytest

from everstep import (
    BadCall,
    BadCombination,
    Child,
    DynamicSupervisor,
    NoProc,
    NotFound,
    Pool,
    Restart,
    Supervisor,
)
from tests.runtime.kit import Gate, Place, Plain, Unsteady, Waiting, heard


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
    assert json.loads(json.dumps(asdict(seen), default=str))
    assert "agents" in drawn
    assert "running 1" in drawn


async def test_a_policy_outlasts_a_restart_of_its_pool(place: Place) -> None:
    Unsteady.errors = [ValueError("one")]
    pool = Pool("agents", restart=Restart(0, on_give_up="escalate"))

    async with place.runtime(tree=Supervisor("root", children=[pool])) as runtime:
        await runtime.tree.pool("agents").reconfigure(max_running=7)
        old = runtime.tree.pool("agents")
        back = heard(runtime, "child_started", "agents")
        await runtime.start(Unsteady())
        await back

        assert runtime.tree.pool("agents").spec.max_running == 7
        with pytest.raises(NoProc):
            old.info()
        with pytest.raises(NoProc):
            await old.reconfigure(max_running=8)


async def test_a_supervisor_hands_listed_policies_on_to_its_pools(place: Place) -> None:
    tree = Supervisor("root", children=[Pool("agents"), Pool("other")])

    async with place.runtime(tree=tree) as runtime:
        await runtime.tree.reconfigure(children=[Pool("agents", max_running=5)])

        assert runtime.tree.pool("agents").info().max_running == 5
        assert runtime.tree.pool("other").info().max_running == 1000


async def test_a_policy_that_makes_no_sense_changes_nothing(place: Place) -> None:
    async with place.runtime(tree=Pool("agents", max_running=5)) as runtime:
        pool = runtime.tree.pool("agents")
        with pytest.raises(BadCall, match="max_running"):
            await pool.reconfigure(max_running=0)
        with pytest.raises(BadCombination, match="within"):
            await pool.reconfigure(restart=Restart(3, within=5))

        assert pool.spec == Pool("agents", max_running=5)


async def test_only_a_pool_that_runs_has_a_handle(place: Place) -> None:
    async def live() -> None:
        await runtime.tree.wait()

    tree = Supervisor("root", children=[Pool("agents"), Child(live, id="service")])
    runtime = place.runtime(tree=tree)

    async with runtime:
        with pytest.raises(NotFound, match="it is a worker, no pool"):
            runtime.tree.pool("service")
        with pytest.raises(NotFound, match="it is a pool, no supervisor"):
            runtime.tree.supervisor("agents")
        await runtime.tree.terminate_child("agents")
        with pytest.raises(NoProc, match=r"pool 'root/agents' .* running\.restart_child"):
            runtime.tree.pool("agents")


async def test_a_pool_of_a_dynamic_supervisor_is_tuned_by_its_id(place: Place) -> None:
    async with place.runtime(tree=DynamicSupervisor("root")) as runtime:
        info = await runtime.tree.start_child(Pool("agents"))
        await runtime.tree.pool(info.id).reconfigure(max_running=3)

        assert runtime.tree.pool(info.id).spec == Pool("agents", max_running=3)
        assert await (await runtime.start(Plain())).result() == "refunds: 2"


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


async def test_two_who_tune_a_pool_at_once_undo_nothing_of_each_other(place: Place) -> None:
    async with place.runtime(tree=Pool("agents")) as runtime:
        pool = runtime.tree.pool("agents")
        await asyncio.gather(pool.reconfigure(max_running=7), pool.reconfigure(rate=(5, 1)))

        assert pool.spec == Pool("agents", max_running=7, rate=(5, 1))
