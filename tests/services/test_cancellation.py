"""Cancellation of every origin: of children, of the host, of the loop."""

import asyncio

import anyio
import pytest

from everstep import (
    Child,
    Restart,
    RestartLimitExceeded,
    Supervisor,
    UnaskedCancellation,
    supervise,
)

from .kit import Habit, Rig, states, timeless

# --- cancellation against crash -----------------------------------------------------------


@pytest.mark.parametrize("how", ["raises it", "awaits what a stranger cancelled"])
@timeless
async def test_a_cancellation_that_nobody_asked_for_is_a_crash(rig: Rig, how: str) -> None:
    strangers: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def child() -> None:
        rig.log.append("+")
        if how == "raises it":
            raise asyncio.CancelledError
        await strangers

    tree = Supervisor("root", restart=Restart(2), children=[Child(child, restart="transient")])
    with pytest.raises(RestartLimitExceeded) as caught:
        async with rig.run(tree):
            await rig.settle()
            strangers.cancel()
            await rig.settle()

    assert rig.log == ["+", "+", "+"]
    assert isinstance(caught.value.__cause__, UnaskedCancellation)


@timeless
async def test_a_strangers_cancellation_of_a_childs_task_is_a_crash(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("ab"))) as running:
        task = next(task for task in asyncio.all_tasks() if task.get_name().endswith("root/a"))
        task.cancel()
        await rig.settle()

        assert states(running) == {"a": "up", "b": "up"}
        assert running.child("a").incarnation == 3


@timeless
async def test_a_child_cancelled_before_its_first_step_is_started_again(rig: Rig) -> None:
    async def child() -> None:
        rig.log.append("+")
        await asyncio.Event().wait()

    async with rig.run(Supervisor("root", children=[Child(child, id="a")])) as running:
        starting = asyncio.ensure_future(running.start_child(Child(child, id="b")))
        while not (tasks := [t for t in asyncio.all_tasks() if t.get_name().endswith("root/b")]):
            await asyncio.sleep(0)
        tasks[0].cancel()
        await starting
        await rig.settle()

        assert states(running) == {"a": "up", "b": "up"}
        assert running.restarts() == 1


@timeless
async def test_a_child_that_swallows_cancellation_in_a_loop_ends_at_its_time(rig: Rig) -> None:
    resumed = 0

    async def deaf() -> None:
        nonlocal resumed
        while True:
            try:
                await rig.clock.sleep(0.01)
                resumed += 1
            except asyncio.CancelledError:
                pass

    async with rig.run(Supervisor("root", children=[Child(deaf, shutdown=1)])) as running:
        await rig.settle()
        before = rig.clock.monotonic()
        await running.stop()
        assert rig.clock.monotonic() - before == pytest.approx(1)
        seen = resumed
        await rig.clock.sleep(10)
        assert resumed == seen


@timeless
async def test_a_cancelled_scope_around_a_child_that_ignores_it_burns_nothing_after_the_end(
    rig: Rig,
) -> None:
    delivered = 0

    async def deaf() -> None:
        nonlocal delivered
        with anyio.CancelScope() as scope:
            scope.cancel()  # which anyio delivers anew in every turn of the loop
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    delivered += 1

    async with rig.run(Supervisor("root", children=[Child(deaf, shutdown=1)])) as running:
        stopping = asyncio.ensure_future(running.stop())
        while delivered < 10:
            await asyncio.sleep(0)
        rig.clock.advance(1)
        await stopping

        seen = delivered
        await rig.settle()  # returns only when no turn of the loop has anything left to do
        assert delivered == seen


@timeless
async def test_a_stop_is_one_cancellation_which_no_shield_holds_up(rig: Rig) -> None:
    async def child() -> None:
        with anyio.CancelScope(shield=True):
            try:
                await rig.clock.sleep(3)
            except asyncio.CancelledError:
                await rig.clock.sleep(1)
                rig.log.append("the section is complete")
                raise

    async with rig.run(Supervisor("root", children=[Child(child, shutdown=5)])):
        await rig.settle()

    assert rig.log == ["the section is complete"]
    assert rig.clock.monotonic() == pytest.approx(1)
    assert rig.kinds(unexpected=True) == []


@timeless
async def test_who_waits_for_a_task_that_ignores_cancellation_is_left_behind(rig: Rig) -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                pass

    async def child() -> None:
        await asyncio.ensure_future(stubborn())

    async with rig.run(Supervisor("root", children=[Child(child, shutdown=1)])):
        await rig.settle()

    assert rig.clock.monotonic() == pytest.approx(1)
    assert "child_late child" in rig.kinds()
    release.set()
    await rig.settle()


@timeless
async def test_a_shielded_cleanup_goes_on_only_until_its_time(rig: Rig) -> None:
    async def child() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            with anyio.CancelScope(shield=True):
                await rig.clock.sleep(0.4)
                rig.log.append("never")

    async with rig.run(Supervisor("root", children=[Child(child, shutdown=0.1)])):
        await rig.settle()

    assert rig.clock.monotonic() == pytest.approx(0.1)
    await rig.clock.sleep(1)
    assert rig.log == []


@timeless
async def test_a_cleanup_may_await_as_long_as_its_time_lasts(rig: Rig) -> None:
    async def child() -> None:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep_forever)
        finally:
            for _ in range(3):
                await rig.clock.sleep(1)
            rig.log.append("cleaned up")

    async with rig.run(Supervisor("root", children=[Child(child, shutdown=5)])):
        await rig.settle()

    assert rig.log == ["cleaned up"]


# --- the host -----------------------------------------------------------------------------


@timeless
async def test_a_host_in_a_cancelled_scope_of_anyio_waits_for_the_whole_tree(rig: Rig) -> None:
    children = [rig.child(name, Habit(cleanup=1)) for name in "ab"]
    with anyio.CancelScope() as scope:
        async with rig.run(Supervisor("root", children=children)):
            scope.cancel()
            await anyio.sleep_forever()

    assert scope.cancelled_caught
    assert rig.log == ["+a", "+b", "-b", ".b", "-a", ".a"]


@timeless
async def test_a_cancelled_host_stops_the_tree_in_order_and_stays_cancelled(rig: Rig) -> None:
    children = [rig.child(name, Habit(cleanup=1)) for name in "ab"]

    async def host() -> None:
        async with rig.run(Supervisor("root", children=children)):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(host())
    await rig.settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert rig.log == ["+a", "+b", "-b", ".b", "-a", ".a"]


@pytest.mark.parametrize("turns", range(16))
@timeless
async def test_a_host_cancelled_in_any_turn_of_a_start_leaves_no_orphan(
    rig: Rig, turns: int
) -> None:
    tree = Supervisor(
        "root", children=[*rig.children("ab"), Supervisor("inner", children=rig.children("cd"))]
    )

    async def host() -> None:
        async with rig.run(tree) as running:
            await running.start_child(rig.child("e"))
            await asyncio.Event().wait()

    task = asyncio.ensure_future(host())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await rig.settle()

    assert asyncio.all_tasks() == {asyncio.current_task()}
    started = [name[1:] for name in rig.log if name[0] == "+"]
    stopped = [name[1:] for name in rig.log if name[0] == "-"]
    assert stopped == started[::-1]


@timeless
async def test_a_second_cancellation_of_the_host_cuts_off_what_is_left(rig: Rig) -> None:
    children = [rig.child(name, Habit(cleanup=100), shutdown=None) for name in "ab"]

    async def host() -> None:
        async with rig.run(Supervisor("root", children=children)):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(host())
    await rig.settle()
    task.cancel()
    await rig.clock.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert rig.log == ["+a", "+b", "-b"]
    assert rig.clock.monotonic() == pytest.approx(1)


@timeless
async def test_a_host_cancelled_first_while_it_leaves_finishes_leaving(rig: Rig) -> None:
    async def host() -> None:
        async with rig.run(Supervisor("root", children=[rig.child("a", Habit(cleanup=3))])):
            pass

    task = asyncio.ensure_future(host())
    await rig.clock.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert rig.log == ["+a", "-a", ".a"]


@timeless
async def test_the_end_of_the_tree_and_a_cancellation_at_once_stay_a_cancellation(
    rig: Rig,
) -> None:
    async def host() -> None:
        async with rig.run(Supervisor("root", restart=Restart(0), children=rig.children("a"))):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(host())
    await rig.settle()
    rig.orders["a"].set_result("crash")
    while "supervisor_ended" not in rig.kinds():
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@timeless
async def test_a_supervisor_cancelled_while_it_stops_cuts_off_what_is_left(rig: Rig) -> None:
    inner = Supervisor("inner", children=[rig.child(name, Habit(cleanup=9)) for name in "ab"])
    async with rig.run(Supervisor("root", children=[inner])) as running:
        stopping = asyncio.ensure_future(running.terminate_child("inner"))
        await rig.clock.sleep(1)
        task = next(t for t in asyncio.all_tasks() if t.get_name().endswith("root/inner"))
        task.cancel()
        await stopping

    assert rig.log == ["+a", "+b", "-b"]
    assert rig.clock.monotonic() == pytest.approx(1)


def test_the_sweep_at_the_end_of_the_loop_restarts_nobody() -> None:
    log: list[str] = []

    async def child(name: str) -> None:
        log.append(f"+{name}")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append(f"-{name}")

    children = [Child(child, args=(name,), id=name) for name in "abc"]

    async def host(entered: asyncio.Event) -> None:
        async with supervise(Supervisor("root", children=children)):
            entered.set()
            await asyncio.Event().wait()

    async def main() -> None:
        entered = asyncio.Event()
        task = asyncio.ensure_future(host(entered))
        await entered.wait()
        await asyncio.sleep(0)
        log.append("main ends")
        del task

    asyncio.run(main())

    ends = log.index("main ends")
    assert sorted(log[:ends]) == ["+a", "+b", "+c"]
    assert sorted(log[ends + 1 :]) == ["-a", "-b", "-c"]
