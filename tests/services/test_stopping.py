"""How children are stopped: in which order, in which time, and how they may answer."""

import asyncio
from typing import Any

import pytest

from everstep import Child, DynamicSupervisor, NoProc, Restart, Supervisor

from .kit import Answer, Habit, Rig, states, timeless


@timeless
async def test_children_stop_from_right_to_left_one_after_another(rig: Rig) -> None:
    children = [rig.child(name, Habit(cleanup=0.3)) for name in "abc"]
    async with rig.run(Supervisor("root", children=children)):
        rig.took()
        began = rig.clock.monotonic()

    assert rig.log == ["-c", ".c", "-b", ".b", "-a", ".a"]
    assert rig.clock.monotonic() - began == pytest.approx(0.9)


@timeless
async def test_a_child_without_a_limit_is_waited_for(rig: Rig) -> None:
    child = rig.child("a", Habit(cleanup=100_000), shutdown=None)
    async with rig.run(Supervisor("root", children=[child])):
        pass

    assert rig.log == ["+a", "-a", ".a"]
    assert rig.clock.monotonic() == pytest.approx(100_000)


@timeless
async def test_a_child_that_ignores_the_stop_is_cut_off_after_its_time(rig: Rig) -> None:
    children = [rig.child("a"), rig.child("b", Habit(stuck=True), shutdown=1)]
    async with rig.run(Supervisor("root", children=children)):
        rig.took()

    assert rig.log == ["-b", "-a"]
    assert rig.clock.monotonic() == pytest.approx(1)
    late = next(event for event in rig.events if event.kind == "child_late")
    assert "kit.py" in late.reason or "manual_clock.py" in late.reason


@pytest.mark.parametrize("shutdown", ["brutal", 0])
@timeless
async def test_brutal_ends_a_child_at_once_and_no_cleanup_runs(rig: Rig, shutdown: Any) -> None:
    children = [rig.child("a"), rig.child("b", Habit(cleanup=1), shutdown=shutdown)]
    async with rig.run(Supervisor("root", children=children)):
        rig.took()

    assert rig.log == ["-a"]
    assert rig.clock.monotonic() < 0.1
    assert rig.kinds(unexpected=True) == []


@timeless
async def test_the_budgets_of_two_stuck_children_follow_one_another(rig: Rig) -> None:
    children = [rig.child(name, Habit(stuck=True), shutdown=0.2) for name in "ab"]
    async with rig.run(Supervisor("root", children=children)):
        pass

    assert rig.clock.monotonic() == pytest.approx(0.4)


@timeless
async def test_a_dynamic_supervisor_stops_all_side_by_side(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        for name in "abc":
            await running.start_child(rig.child(name, Habit(cleanup=0.3)))

    assert rig.clock.monotonic() == pytest.approx(0.3)
    assert sorted(rig.log[-6:]) == ["-a", "-b", "-c", ".a", ".b", ".c"]


@timeless
async def test_a_dynamic_supervisor_cuts_off_only_those_that_are_late(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        await running.start_child(rig.child("quick", shutdown=1))
        await running.start_child(rig.child("stuck", Habit(stuck=True), shutdown=1))
        await running.start_child(rig.child("brutal", shutdown="brutal"))
        await running.start_child(rig.child("patient", Habit(cleanup=7), shutdown=None))

    assert rig.clock.monotonic() == pytest.approx(7)
    assert [event.child for event in rig.events if event.kind == "child_late"] == ["stuck#3"]


@pytest.mark.parametrize(
    ("restart", "answer", "reported"),
    [
        ("permanent", "shutdown", False),
        ("permanent", "normal", True),
        ("permanent", "info", True),
        ("permanent", "crash", True),
        ("transient", "normal", False),
        ("transient", "info", False),
        ("transient", "crash", True),
        ("temporary", "normal", False),
        ("temporary", "info", False),
        ("temporary", "crash", True),
    ],
)
@timeless
async def test_an_odd_answer_to_a_stop_is_reported_and_changes_nothing(
    rig: Rig, restart: Any, answer: Answer, reported: bool
) -> None:
    children = [rig.child("a"), rig.child("b", Habit(answer=answer), restart=restart)]
    async with rig.run(Supervisor("root", children=children)):
        pass

    assert rig.log == ["+a", "+b", "-b", "-a"]
    assert rig.kinds(unexpected=True) == (["shutdown_error b"] if reported else [])


@timeless
async def test_a_stop_blocks_no_queries(rig: Rig) -> None:
    children = [rig.child("a"), rig.child("b", Habit(stuck=True), shutdown=0.2)]
    async with rig.run(Supervisor("root", children=children)) as running:
        call = asyncio.ensure_future(running.terminate_child("b"))
        await rig.clock.sleep(0.05)

        assert states(running) == {"a": "up", "b": "stopping"}
        await call
        assert states(running) == {"a": "up", "b": "undefined"}


@timeless
async def test_a_child_that_terminates_itself_is_cancelled_not_deadlocked(rig: Rig) -> None:
    async def suicidal() -> None:
        await running.terminate_child("me")

    async with rig.run(Supervisor("root")) as running:
        await running.start_child(Child(suicidal, id="me"))
        await rig.settle()

        assert states(running) == {"me": "undefined"}
    assert rig.clock.monotonic() < 0.1


@timeless
async def test_a_child_stopped_by_its_group_and_then_by_the_end_is_cancelled_once(
    rig: Rig,
) -> None:
    children = [rig.child("a"), rig.child("b", Habit(cleanup=3))]
    tree = Supervisor("root", strategy="one_for_all", children=children)
    async with rig.run(tree):
        await rig.crash("a")
        await rig.clock.sleep(1)

    assert rig.log == ["+a", "+b", "-b", ".b"]
    assert rig.clock.monotonic() == pytest.approx(3)


@timeless
async def test_a_second_order_to_stop_while_stopping_adds_nothing(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=[rig.child("a", Habit(cleanup=3))])) as running:
        first = asyncio.ensure_future(running.stop())
        await rig.clock.sleep(1)
        await running.stop()
        await first

    assert rig.log == ["+a", "-a", ".a"]


@timeless
async def test_calls_that_wait_and_calls_that_come_are_declined_once_the_end_has_begun(
    rig: Rig,
) -> None:
    async with rig.run(Supervisor("root", children=[rig.child("a", Habit(cleanup=3))])) as running:
        terminating = asyncio.ensure_future(running.terminate_child("a"))
        await rig.settle()
        waiting = asyncio.ensure_future(running.start_child(rig.child("b")))
        await rig.settle()
        stopping = asyncio.ensure_future(running.stop())
        await rig.settle()
        with pytest.raises(NoProc):
            await waiting
        with pytest.raises(NoProc):
            await running.restart_child("a")
        await asyncio.gather(terminating, stopping)

    for call in (
        running.start_child(rig.child("b")),
        running.terminate_child("a"),
        running.restart_child("a"),
        running.delete_child("a"),
        running.reconfigure(),
        running.stop(),
    ):
        with pytest.raises(NoProc):
            await call
    for look in (running.children, running.count, running.restarts):
        with pytest.raises(NoProc):
            look()


@timeless
async def test_stopping_by_hand_leaves_the_body_alone(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("ab"))) as running:
        await running.stop()
        assert rig.took() == ["+a", "+b", "-b", "-a"]
        await running.wait()
        await rig.clock.sleep(100)

    assert rig.clock.monotonic() == pytest.approx(100)


@timeless
async def test_leaving_by_an_error_stops_the_tree_and_passes_the_error_on(rig: Rig) -> None:
    with pytest.raises(ZeroDivisionError):
        async with rig.run(Supervisor("root", children=rig.children("ab"))):
            raise ZeroDivisionError

    assert rig.log == ["+a", "+b", "-b", "-a"]


@timeless
async def test_an_error_of_the_body_carries_a_note_where_the_tree_gave_up_too(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(0), children=rig.children("a"))

    with pytest.raises(ZeroDivisionError) as caught:
        async with rig.run(tree):
            try:
                await rig.crash("a")
            finally:
                raise ZeroDivisionError

    assert "gives up" in caught.value.__notes__[0]
