"""Supervisors whose children come and go by calls, known by reference."""

import asyncio
import logging
from cProfile import Profile
from typing import Any

import pytest
from anyio.abc import TaskStatus

from everstep import (
    BadCombination,
    Child,
    DynamicSupervisor,
    FailedToStartChild,
    MaxChildren,
    NotFound,
    Restart,
    RestartLimitExceeded,
    SimpleOneForOne,
    Supervisor,
    fixed,
)

from .kit import Beginning, Boom, Habit, Rig, states, timeless


@timeless
async def test_it_starts_empty_and_takes_one_id_often(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        assert running.count() == (0, 0, 0, 0)
        infos = [await running.start_child(rig.child("a")) for _ in range(3)]

        assert len({info.id for info in infos}) == 3
        assert running.count() == (3, 3, 0, 3)


@pytest.mark.parametrize(
    ("restart", "order", "left"),
    [
        ("permanent", "end", 1),
        ("permanent", "crash", 1),
        ("transient", "crash", 1),
        ("transient", "end", 0),
        ("transient", "shutdown", 0),
        ("temporary", "crash", 0),
        ("temporary", "end", 0),
    ],
)
@timeless
async def test_an_instance_is_restarted_or_forgotten_by_its_type(
    rig: Rig, restart: Any, order: str, left: int
) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        await running.start_child(rig.child("a", restart=restart))
        await rig.order(f"{order} a")

        assert list(states(running).values()) == ["up"] * left


@pytest.mark.parametrize("restart", ["permanent", "transient", "temporary"])
@timeless
async def test_a_start_that_is_ignored_adds_nothing(rig: Rig, restart: Any) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        info = await running.start_child(rig.child("a", Habit(always="ignore"), restart=restart))

        assert (info.status, running.children()) == ("undefined", [])


@timeless
async def test_a_restart_that_is_ignored_drops_the_instance(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        await running.start_child(rig.child("a", Habit(starts=["ok", "ignore"])))
        await rig.crash("a")

        assert running.children() == []


@pytest.mark.parametrize("begins", ["fail", "hang"])
@timeless
async def test_a_start_that_fails_adds_nothing_and_the_supervisor_lives(
    rig: Rig, begins: Beginning
) -> None:
    async with rig.run(DynamicSupervisor("root", restart=Restart(0))) as running:
        with pytest.raises(FailedToStartChild):
            await running.start_child(rig.child("a", Habit(always=begins)))

        assert running.children() == []


@timeless
async def test_the_limit_holds_at_once_and_zero_is_one(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root", max_children=0)) as running:
        with pytest.raises(MaxChildren):
            await running.start_child(rig.child("a"))

        await running.reconfigure(max_children=2)
        await running.start_child(rig.child("a"))
        await running.start_child(rig.child("b"))
        await running.reconfigure(max_children=1)
        assert running.count().active == 2
        with pytest.raises(MaxChildren, match="max_children=2"):
            await running.start_child(rig.child("c"))

        await running.reconfigure(max_children=None)
        await running.start_child(rig.child("c"))


@timeless
async def test_a_child_that_is_being_restarted_counts_against_the_limit(rig: Rig) -> None:
    tree = DynamicSupervisor("root", max_children=1, restart=Restart(backoff=fixed(10)))
    async with rig.run(tree) as running:
        info = await running.start_child(rig.child("a"))
        await rig.crash("a")
        assert running.count() == (1, 0, 0, 1)
        with pytest.raises(MaxChildren):
            await running.start_child(rig.child("b"))

        await running.terminate_child(info.ref)
        assert running.children() == []
        await running.start_child(rig.child("b"))
        await rig.clock.sleep(20)
        assert rig.log == ["+a", "+b"]


@timeless
async def test_an_instance_whose_restart_failed_counts_and_is_ended_by_its_reference(
    rig: Rig,
) -> None:
    tree = DynamicSupervisor("root", max_children=1, restart=Restart(10**9))
    async with rig.run(tree) as running:
        info = await running.start_child(rig.child("a", Habit(starts=["ok"], always="fail")))
        rig.orders["a"].set_result("crash")
        while rig.log.count("!a") < 3:
            await running.reconfigure()

        assert running.count() == (1, 0, 0, 1)
        with pytest.raises(MaxChildren):
            await running.start_child(rig.child("b"))
        await running.terminate_child(info.ref)
        assert running.count() == (0, 0, 0, 0)
        assert (await running.start_child(rig.child("b"))).status == "up"


@timeless
async def test_a_lowered_limit_does_not_keep_a_child_from_its_restart(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        for name in "ab":
            await running.start_child(rig.child(name))
        await running.reconfigure(max_children=1)
        await rig.crash("a")

        assert running.count().active == 2


@pytest.mark.parametrize("error", [Boom(), asyncio.CancelledError(), GeneratorExit()])
@timeless
async def test_whatever_a_start_raises_is_its_callers_error_and_the_supervisor_lives(
    rig: Rig, error: BaseException
) -> None:
    async def child(*, task_status: TaskStatus[None]) -> None:
        raise error

    async with rig.run(DynamicSupervisor("root", restart=Restart(0))) as running:
        with pytest.raises(FailedToStartChild):
            await running.start_child(Child(child))

        assert running.count() == (0, 0, 0, 0)
        assert (await running.start_child(rig.child("a"))).status == "up"


@timeless
async def test_giving_up_stops_the_others_side_by_side(rig: Rig) -> None:
    with pytest.raises(RestartLimitExceeded):
        async with rig.run(DynamicSupervisor("root", restart=Restart(0))) as running:
            for name in "abc":
                await running.start_child(rig.child(name, Habit(cleanup=1)))
            await rig.crash("b")

    assert rig.clock.monotonic() == pytest.approx(1)
    assert sorted(rig.log[3:]) == ["-a", "-c", ".a", ".c"]


@timeless
async def test_a_permanent_instance_that_answers_a_stop_by_returning_is_reported(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        await running.start_child(rig.child("a", Habit(answer="normal")))
        await running.start_child(rig.child("b", Habit(answer="normal"), restart="transient"))

    assert rig.kinds(unexpected=True) == ["shutdown_error a#1"]


@timeless
async def test_ids_of_instances_are_numbered_so_that_events_can_name_them(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        ids = [(await running.start_child(rig.child("a"))).id for _ in range(2)]

        assert ids == ["a#1", "a#3"]
        assert [info.id for info in running.children()] == ["a#3", "a#1"]
    assert {"child_started a#1", "child_started a#3"} <= set(rig.kinds())


@timeless
async def test_extra_arguments_come_first_also_at_a_restart(rig: Rig) -> None:
    async def child(*args: int) -> None:
        rig.log.append(f"{args}")
        await rig.clock.sleep(1)

    tree = DynamicSupervisor("root", extra_args=(1, 2), restart=Restart(1))
    with pytest.raises(RestartLimitExceeded):
        async with rig.run(tree) as running:
            await running.start_child(Child(child, args=(3,)))
            await rig.clock.sleep(100)

    assert rig.log == ["(1, 2, 3)", "(1, 2, 3)"]


@timeless
async def test_calls_by_id_are_declined(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        info = await running.start_child(rig.child("a"))
        for call in (running.terminate_child, running.restart_child, running.delete_child):
            with pytest.raises(SimpleOneForOne, match="by reference"):
                await call(info.id)

        assert running.count().active == 1


@timeless
async def test_a_child_of_ours_may_be_terminated_twice_a_strangers_not(rig: Rig) -> None:
    tree = Supervisor("root", children=[DynamicSupervisor("one"), DynamicSupervisor("two")])
    async with rig.run(tree) as running:
        one, two = running.supervisor("one"), running.supervisor("two")
        mine = await one.start_child(rig.child("a"))
        strangers = await two.start_child(rig.child("b"))

        await one.terminate_child(mine.ref)
        await one.terminate_child(mine.ref)
        with pytest.raises(NotFound):
            await one.terminate_child(strangers.ref)
        assert two.count().active == 1


@timeless
async def test_a_reference_stays_good_over_restarts_of_the_child(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        info = await running.start_child(rig.child("a"))
        await rig.crash("a")
        await running.terminate_child(info.ref)

        assert running.children() == []


@timeless
async def test_a_reference_to_an_earlier_life_of_the_supervisor_finds_nobody(rig: Rig) -> None:
    tree = Supervisor("root", children=[DynamicSupervisor("dyn", restart=Restart(0))])
    async with rig.run(tree) as running:
        old = await running.supervisor("dyn").start_child(rig.child("a"))
        await rig.crash("a")
        dyn = running.supervisor("dyn")
        new = await dyn.start_child(rig.child("a"))

        assert old.ref != new.ref and old.id == new.id
        with pytest.raises(NotFound):
            await dyn.terminate_child(old.ref)


@timeless
async def test_significant_children_and_automatic_shutdown_have_no_place(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        with pytest.raises(BadCombination, match="significant"):
            await running.start_child(rig.child("a", restart="transient", significant=True))
        with pytest.raises(BadCombination, match="auto_shutdown"):
            await running.reconfigure(auto_shutdown="any")


@timeless
async def test_supervisors_can_be_children_but_take_no_extra_arguments(rig: Rig) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        info = await running.start_child(Supervisor("inner", children=rig.children("a")))
        assert info.value.children()[0].id == "a"

        await running.reconfigure(extra_args=(1,))
        with pytest.raises(BadCombination, match="extra_args"):
            await running.start_child(Supervisor("inner"))


async def live_twice(rig: Rig, children: int) -> int:
    """Start so many, let each crash once, stop them; how many functions were called for it."""
    lives, crash, counted = 0, asyncio.Event(), Profile()

    async def child() -> None:
        nonlocal lives
        lives += 1
        if lives <= children:
            await crash.wait()
            raise ZeroDivisionError
        await asyncio.Event().wait()

    with counted:
        async with rig.run(DynamicSupervisor("root", restart=Restart(children))) as running:
            for _ in range(children):
                await running.start_child(Child(child))
            assert (lives, running.count().active) == (children, children)
            crash.set()
            await rig.settle()
            assert (lives, running.count().active) == (2 * children, children)
    return sum(entry.callcount for entry in counted.getstats())


@pytest.mark.slow
@timeless
async def test_ten_thousand_start_crash_once_and_stop_with_work_that_grows_with_their_number(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "everstep")  # each crash is a warning
    few = await live_twice(rig, 1_000)
    many = await live_twice(rig, 10_000)

    stopped = [event for event in rig.events if event.kind == "child_stopped"]
    assert len(stopped) == 11_000
    assert many == pytest.approx(10 * few, rel=0.05)
