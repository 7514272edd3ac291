"""A running pool goes on by another policy without touching what runs."""

from __future__ import annotations

from typing import Any

import pytest

from everstep import (
    BadCall,
    BadCombination,
    DynamicSupervisor,
    NoProc,
    Pool,
    Restart,
    Runtime,
    Status,
    Supervisor,
)
from tests.runtime.kit import Gate, Place, Plain, Unsteady, Waiting, heard, until
from tests.runtime.pools import pool_of


async def start(runtime: Runtime, *names: str, lane: str | None = None) -> None:
    for name in names:
        await runtime.start(Waiting(name=name), id=name, lane=lane)


async def reconfigure(runtime: Runtime, **changes: Any) -> None:
    await pool_of(runtime).reconfigure(**changes)


async def running(runtime: Runtime) -> list[str]:
    return [info.id for info in await runtime.tasks(status=Status.RUNNING)]


async def test_a_lower_limit_ends_nothing_and_a_higher_one_lets_in_at_once(
    place: Place, gate: Gate
) -> None:
    async with place.runtime(pool={"max_running": 3}) as runtime:
        await start(runtime, *"abcde")
        await gate.until("c")

        await reconfigure(runtime, max_running=1)
        gate.open("a", "b")
        await runtime.task("a").result()
        await runtime.task("b").result()
        assert await running(runtime) == ["c"]
        assert (pool_of(runtime).info().running, pool_of(runtime).info().max_running) == (1, 1)

        await reconfigure(runtime, max_running=3)
        await gate.until("d")
        await gate.until("e")
        gate.open(*"cde")


async def test_the_limit_of_lanes_can_be_set_raised_and_dropped(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        await start(runtime, "a", lane="x")
        await gate.until("a")
        await reconfigure(runtime, max_running_per_lane=1)
        await start(runtime, *"bcd", lane="x")
        assert await running(runtime) == ["a"]

        await reconfigure(runtime, max_running_per_lane=2)
        await gate.until("b")
        assert await running(runtime) == ["a", "b"]
        await reconfigure(runtime, max_running_per_lane=None)
        await gate.until("d")
        gate.open(*"abcd")


async def test_a_rate_can_be_raised_and_dropped(place: Place, gate: Gate) -> None:
    async with place.runtime(pool={"rate": (1, 10)}) as runtime:
        await start(runtime, *"abcde")
        await gate.until("a")
        assert await running(runtime) == ["a"]

        await reconfigure(runtime, rate=(3, 10))
        await gate.until("c")
        assert pool_of(runtime).info().starts == 3
        await reconfigure(runtime, rate=None)
        await gate.until("e")
        assert pool_of(runtime).info().starts == 0
        gate.open(*"abcde")


async def test_the_next_crash_is_judged_by_the_new_policy(place: Place) -> None:
    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        await reconfigure(runtime, restart=Restart(2), storm=(1, 60))
        Unsteady.errors = [ValueError("no"), ValueError("no")]
        task = await runtime.start(Unsteady())

        assert (await until(task, lambda info: info.crashes == 2)).status is Status.QUEUED
        assert pool_of(runtime).info().storm is not None
        await reconfigure(runtime, storm=None)
        assert await task.result() == "at last"


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


async def test_a_pool_of_a_dynamic_supervisor_is_reconfigured_by_its_id(place: Place) -> None:
    async with place.runtime(tree=DynamicSupervisor("root")) as runtime:
        info = await runtime.tree.start_child(Pool("agents"))
        await runtime.tree.pool(info.id).reconfigure(max_running=3)

        assert runtime.tree.pool(info.id).spec == Pool("agents", max_running=3)
        assert await (await runtime.start(Plain())).result() == "refunds: 2"
