"""Trees of services and pools under one runtime: who starts, stops and comes back with whom."""

import asyncio
from typing import Any

import pytest

from everstep import (
    BadCall,
    Child,
    DuplicatePool,
    DynamicSupervisor,
    FailedToStartChild,
    Pool,
    PoolInUse,
    Restart,
    RuntimeClosed,
    Status,
    StoreFailed,
    Supervisor,
)
from tests.runtime.kit import Gate, Place, Plain, Unsteady, Waiting, heard, kinds, next_event, until


class Service:
    """A service that tells when it starts and stops, and crashes when it is told to."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log
        self.crash: asyncio.Future[None]

    async def live(self) -> None:
        self.log.append(f"+{self.name}")
        self.crash = asyncio.get_running_loop().create_future()
        try:
            await self.crash
        except asyncio.CancelledError:
            self.log.append(f"-{self.name}")
            raise

    def child(self, **options: Any) -> Child:
        return Child(self.live, id=self.name, **options)


async def test_services_and_pools_start_from_left_to_right_and_stop_from_right_to_left(
    place: Place, gate: Gate
) -> None:
    log: list[str] = []
    before, after = Service("before", log), Service("after", log)
    tree = Supervisor("root", children=[before.child(), Pool("agents"), after.child()])

    async with place.runtime(tree=tree) as runtime:
        task = await runtime.start(Waiting(name="a"), id="a")
        await gate.until("a")
        started = [(info.id, info.kind, info.status) for info in runtime.tree.children()]
        gone = asyncio.create_task(task.result())
        gone.add_done_callback(lambda _: log.append("-tasks"))
        await asyncio.sleep(0)

    assert started == [
        ("after", "worker", "up"), ("agents", "pool", "up"), ("before", "worker", "up")
    ]  # fmt: skip
    assert log[:3] == ["+before", "+after", "-after"]
    assert set(log[3:]) == {"-before", "-tasks"}
    with pytest.raises(RuntimeClosed):
        gone.result()


async def test_a_task_goes_to_the_pool_that_is_named(place: Place) -> None:
    tree = Supervisor("root", children=[Pool("fast"), Supervisor("in", children=[Pool("slow")])])

    async with place.runtime(tree=tree) as runtime:
        task = await runtime.start(Plain(), pool="slow")

        assert await task.result() == "refunds: 2"
        assert (await task.status()).pool == "slow"
        with pytest.raises(BadCall, match=r"leaves open which pool.*pool='fast' or pool='slow'"):
            await runtime.start(Plain())
        with pytest.raises(BadCall, match="is no pool of this runtime"):
            await runtime.start(Plain(), pool="tasks")


@pytest.mark.parametrize(("pools", "meant"), [(["only"], "only"), (["tasks", "other"], "tasks")])
async def test_without_a_name_the_only_pool_or_that_named_tasks_is_meant(
    place: Place, pools: list[str], meant: str
) -> None:
    tree = Supervisor("root", children=[Pool(name) for name in pools])

    async with place.runtime(tree=tree) as runtime:
        task = await runtime.start(Plain())

        assert (await task.status()).pool == meant


async def test_a_tree_without_a_pool_runs_services_alone(place: Place) -> None:
    service = Service("poller", [])

    async with place.runtime(tree=Supervisor("root", children=[service.child()])) as runtime:
        assert runtime.tree.count().active == 1
        with pytest.raises(BadCall, match="write Pool\\(\\) into its tree"):
            await runtime.start(Plain())


async def test_a_service_may_start_tasks_from_its_first_moment(place: Place) -> None:
    results: list[Any] = []

    async def poll() -> None:
        task = await runtime.start(Plain())
        results.append(await task.result())
        done.set()

    done = asyncio.Event()
    tree = Supervisor("root", children=[Child(poll, restart="temporary"), Pool()])
    runtime = place.runtime(tree=tree)

    async with runtime:
        await done.wait()

    assert results == ["refunds: 2"]


async def test_a_service_that_does_not_start_leaves_the_runtime_unentered_and_the_store_free(
    place: Place,
) -> None:
    async def refuse(*, task_status: Any) -> None:
        raise ConnectionError("no mail server")

    tree = Supervisor("root", children=[Pool(), Child(refuse, id="mail")])
    runtime = place.runtime(tree=tree)

    with pytest.raises(FailedToStartChild, match="no mail server"):
        async with runtime:
            pytest.fail("it was entered")

    with pytest.raises(RuntimeClosed):
        _ = runtime.tree
    async with place.runtime() as second:
        assert await (await second.start(Plain())).result() == "refunds: 2"


async def test_a_pool_restarted_with_its_sibling_goes_on_with_its_tasks_and_charges_nobody(
    place: Place, gate: Gate
) -> None:
    service = Service("mail", [])
    tree = Supervisor("root", strategy="rest_for_one", children=[service.child(), Pool("agents")])

    async with place.runtime(tree=tree) as runtime:
        task = await runtime.start(Waiting(name="a"), id="a")
        await gate.until("a")
        back = heard(runtime, "child_started", "agents")
        await asyncio.sleep(0)
        gate.reached.clear()
        service.crash.set_exception(ConnectionError())
        await back
        await gate.until("a")
        gate.open("a")

        assert await task.result() == "a"
        info = await task.status()
        step = (await task.steps())[0]

    assert (info.crashes, info.deaths) == (0, 0)
    assert step.attempts == 1
    assert "task_released" in await kinds_of(place, "a")


async def kinds_of(place: Place, task_id: str) -> list[str]:
    async with place.runtime() as runtime:
        return await kinds(runtime.task(task_id))


async def test_each_pool_counts_by_its_own_policy(place: Place) -> None:
    Unsteady.errors = [ValueError("one"), ValueError("two")]
    tree = Supervisor(
        "root",
        children=[Pool("strict", restart=Restart(0)), Pool("lenient", restart=Restart(1))],
    )

    async with place.runtime(tree=tree) as runtime:
        strict = await runtime.start(Unsteady(), pool="strict")
        await until(strict, lambda info: info.status is Status.FAILED)
        lenient = await runtime.start(Unsteady(), pool="lenient")
        assert await lenient.result() == "at last"
        assert (await strict.status()).crashes == 1
        assert (await lenient.status()).crashes == 1


def test_two_pools_of_one_name_in_a_tree_are_refused(place: Place) -> None:
    tree = Supervisor("root", children=[Pool("a"), Supervisor("in", children=[Pool("a")])])

    with pytest.raises(DuplicatePool, match=r"'root/a' and 'root/in/a'.*Pool\(\"a-2\"\)"):
        place.runtime(tree=tree)


async def test_pools_come_and_go_while_the_tree_runs(place: Place, gate: Gate) -> None:
    tree = Supervisor("root", children=[Pool("agents"), DynamicSupervisor("more")])

    async with place.runtime(tree=tree) as runtime:
        more = runtime.tree.supervisor("more")
        info = await more.start_child(Pool("extra"))
        with pytest.raises(FailedToStartChild) as refused:
            await more.start_child(Pool("agents"))
        assert isinstance(refused.value.__cause__, PoolInUse)
        task = await runtime.start(Waiting(name="a"), pool="extra")
        await gate.until("a")
        gate.reached.clear()
        await more.terminate_child(info.ref)
        assert (await task.status()).status is Status.QUEUED
        await more.start_child(Pool("extra"))
        await gate.until("a")
        gate.open("a")
        assert await task.result() == "a"


async def test_a_pool_that_an_operator_stopped_keeps_its_tasks_until_it_is_started_again(
    place: Place,
) -> None:
    async with place.runtime(tree=Pool("agents")) as runtime:
        await runtime.tree.terminate_child("agents")
        task = await runtime.start(Plain())
        assert (await task.status()).status is Status.QUEUED
        await runtime.tree.restart_child("agents")
        assert await task.result() == "refunds: 2"


async def test_a_pool_that_was_forgotten_takes_no_more_tasks(place: Place) -> None:
    tree = Supervisor("root", children=[Pool("agents"), Pool("old")])

    async with place.runtime(tree=tree) as runtime:
        await runtime.tree.terminate_child("old")
        assert (await (await runtime.start(Plain(), pool="old")).status()).pool == "old"
        await runtime.tree.delete_child("old")
        with pytest.raises(BadCall, match=r"is no pool of this runtime; write pool='agents'"):
            await runtime.start(Plain(), pool="old")
        assert (await (await runtime.start(Plain())).status()).pool == "agents"


async def test_a_supervisor_that_is_killed_gives_the_tasks_of_its_pools_back(
    place: Place, gate: Gate
) -> None:
    inner = Supervisor("inner", shutdown="brutal", children=[Pool("agents")])

    async with place.runtime(tree=Supervisor("root", children=[inner]), grace=60) as runtime:
        task = await runtime.start(Waiting(name="a"))
        await gate.until("a")
        gate.reached.clear()
        await runtime.tree.terminate_child("inner")
        await next_event(task, "task_released")
        await runtime.tree.restart_child("inner")
        await gate.until("a")
        gate.open("a")

        assert await task.result() == "a"
        assert (await task.steps())[0].attempts == 1


async def test_tasks_of_a_pool_that_the_tree_lacks_wait_and_are_reported(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with place.runtime(tree=Pool("old")) as runtime:
        await runtime.tree.terminate_child("old")
        await runtime.start(Plain(), id="a")

    async with place.runtime(tree=Pool("new")) as runtime:
        assert await (await runtime.start(Plain())).result() == "refunds: 2"
        assert (await runtime.task("a").status()).status is Status.QUEUED
    assert "1 task waits for the pool 'old', which the tree of this runtime lacks" in caplog.text

    async with place.runtime(tree=Supervisor("root", children=[Pool("old")])) as runtime:
        assert await runtime.task("a").result() == "refunds: 2"


async def test_all_pools_share_one_grace_when_the_runtime_is_left(place: Place, gate: Gate) -> None:
    tree = Supervisor("root", children=[Pool("one"), Pool("two")])
    runtime = place.runtime(tree=tree, grace=10)
    await runtime.__aenter__()
    for name in ("one", "two"):
        await runtime.start(Waiting(name=name), id=name, pool=name)
        await gate.until(name)

    leaving = asyncio.create_task(runtime.__aexit__(None, None, None))
    await place.clock.until_waiting(within=10)
    place.clock.advance(10)
    await leaving  # with a grace for each it would wait for ten seconds more

    assert "task_released" in await kinds_of(place, "one")
    assert "task_released" in await kinds_of(place, "two")


async def test_a_store_that_fails_cancels_the_body_and_stops_the_services(
    place: Place, gate: Gate
) -> None:
    log: list[str] = []
    service = Service("poller", log)
    tree = Supervisor("root", children=[service.child(), Pool()])

    async def go_on_without_a_store() -> None:
        async with place.runtime(tree=tree) as runtime:
            await runtime.start(Waiting(name="a"))
            await gate.until("a")
            place.fail()
            gate.open("a")
            await asyncio.Event().wait()

    with pytest.raises(StoreFailed):
        await go_on_without_a_store()

    assert log == ["+poller", "-poller"]


async def test_a_tree_that_ends_in_order_leaves_the_body_alone_and_tasks_queued(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        await runtime.tree.stop()
        task = await runtime.start(Plain(), id="later")
        assert (await task.status()).status is Status.QUEUED

    async with place.runtime() as runtime:
        assert await runtime.task("later").result() == "refunds: 2"
