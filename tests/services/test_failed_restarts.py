"""Restarts whose start fails, and what calls find between two attempts."""

import asyncio

import pytest

from everstep import (
    AlreadyPresent,
    Child,
    FailedToStartChild,
    Restart,
    Restarting,
    RestartLimitExceeded,
    Supervisor,
    fixed,
)

from .kit import Habit, Rig, states, timeless

WAITS = Restart(100, backoff=fixed(10))


@timeless
async def test_each_failed_attempt_counts_and_the_limit_ends_them(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(3), children=rig.children("ab"))

    with pytest.raises(RestartLimitExceeded) as caught:
        async with rig.run(tree):
            rig.habits["a"].always = "fail"
            await rig.crash("a")

    assert rig.log == ["+a", "+b", "!a", "!a", "!a", "-b"]
    assert "a does not start" in caught.value.reason


@timeless
async def test_a_child_between_two_attempts_answers_as_restarting(rig: Rig) -> None:
    async with rig.run(Supervisor("root", restart=WAITS, children=rig.children("ab"))) as running:
        await rig.crash("a")

        assert states(running) == {"a": "restarting", "b": "up"}
        assert running.count() == (2, 1, 0, 2)
        with pytest.raises(AlreadyPresent):
            await running.start_child(rig.child("a"))
        with pytest.raises(Restarting):
            await running.restart_child("a")
        with pytest.raises(Restarting):
            await running.delete_child("a")
        assert running.child("a").restart_in == pytest.approx(10)


@timeless
async def test_terminating_a_restarting_child_cancels_its_restart(rig: Rig) -> None:
    async with rig.run(Supervisor("root", restart=WAITS, children=rig.children("ab"))) as running:
        await rig.crash("a")
        await running.terminate_child("a")

        assert states(running) == {"a": "undefined", "b": "up"}
        assert rig.clock.waiting() == 0
        await rig.clock.sleep(20)
        assert states(running) == {"a": "undefined", "b": "up"}
        await running.delete_child("a")
        assert states(running) == {"b": "up"}


@timeless
async def test_calls_are_served_between_two_attempts_without_a_backoff(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(10**9), children=rig.children("ab"))
    async with rig.run(tree) as running:
        rig.habits["a"].always = "fail"
        rig.orders["a"].set_result("crash")
        while rig.log.count("!a") < 5:
            await running.reconfigure()

        await running.terminate_child("a")
        assert states(running) == {"a": "undefined", "b": "up"}


@timeless
async def test_a_supervisor_in_a_loop_of_restarts_stops_promptly(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(10**9), children=rig.children("ab"))
    async with rig.run(tree) as running:
        rig.habits["a"].always = "fail"
        rig.orders["a"].set_result("crash")
        while rig.log.count("!a") < 5:
            await running.reconfigure()
    assert rig.log.count("!a") < 10


@timeless
async def test_one_for_all_redoes_the_whole_group_for_each_attempt(rig: Rig) -> None:
    tree = Supervisor("root", strategy="one_for_all", children=rig.children("abc"))
    async with rig.run(tree) as running:
        rig.took()
        rig.habits["b"].starts = ["fail", "fail"]
        await rig.crash("a")

        assert rig.took() == [
            "-c", "-b", "+a", "!b", "-a", "+a", "!b", "-a", "+a", "+b", "+c",
        ]  # fmt: skip
        assert running.restarts() == 3


@timeless
async def test_one_for_all_whose_restart_fails_five_times_is_complete_and_in_order(
    rig: Rig,
) -> None:
    tree = Supervisor(
        "root", strategy="one_for_all", restart=Restart(6), children=rig.children("abc")
    )
    async with rig.run(tree) as running:
        rig.habits["b"].starts = ["fail"] * 5
        await rig.crash("b")

        assert running.restarts() == 6
        assert states(running) == {"a": "up", "b": "up", "c": "up"}


@timeless
async def test_rest_for_one_waits_with_those_behind_the_failed_child_down(rig: Rig) -> None:
    tree = Supervisor("root", strategy="rest_for_one", restart=WAITS, children=rig.children("abcd"))
    async with rig.run(tree) as running:
        rig.took()
        rig.habits["c"].starts = ["fail"]
        await rig.crash("b")
        await rig.clock.sleep(10)
        assert rig.took() == ["-d", "-c", "+b", "!c"]
        assert states(running) == {
            "a": "up", "b": "up", "c": "restarting", "d": "undefined",
        }  # fmt: skip
        assert running.count().active == 2

        await rig.clock.sleep(10)
        assert rig.took() == ["+c", "+d"]


@timeless
async def test_a_terminated_restart_leaves_the_rest_of_its_group_down(rig: Rig) -> None:
    tree = Supervisor("root", strategy="rest_for_one", restart=WAITS, children=rig.children("abc"))
    async with rig.run(tree) as running:
        await rig.crash("b")
        await running.terminate_child("b")
        await rig.clock.sleep(100)

        assert states(running) == {"a": "up", "b": "undefined", "c": "undefined"}
        assert (await running.restart_child("c")).status == "up"


@timeless
async def test_a_child_started_by_hand_while_its_group_waits_is_redone_with_it(rig: Rig) -> None:
    tree = Supervisor("root", strategy="rest_for_one", restart=WAITS, children=rig.children("abc"))
    async with rig.run(tree) as running:
        await rig.crash("b")
        await running.restart_child("c")
        rig.took()
        await rig.clock.sleep(10)

        assert rig.took() == ["-c", "+b", "+c"]


@timeless
async def test_a_crash_before_a_waiting_child_takes_its_restart_over(rig: Rig) -> None:
    tree = Supervisor("root", strategy="rest_for_one", restart=WAITS, children=rig.children("abc"))
    async with rig.run(tree) as running:
        await rig.crash("b")
        await rig.clock.sleep(4)
        await rig.crash("a")
        assert states(running) == {"a": "restarting", "b": "undefined", "c": "undefined"}
        rig.took()
        await rig.clock.sleep(6)
        assert rig.took() == []
        await rig.clock.sleep(4)
        assert rig.took() == ["+a", "+b", "+c"]
        assert rig.clock.waiting() == 0


@timeless
async def test_a_group_restart_replaces_an_attempt_that_is_about_to_be_made(rig: Rig) -> None:
    tree = Supervisor(
        "root", strategy="rest_for_one", restart=Restart(9), children=rig.children("ab")
    )
    async with rig.run(tree) as running:
        rig.took()
        rig.habits["a"].starts = ["fail"]
        rig.habits["b"].starts = ["fail", "fail"]
        await rig.crash("b", "a")

        assert rig.took() == ["!b", "!a", "+a", "!b", "+b"]
        assert running.restarts() == 4


@timeless
async def test_a_restart_that_is_ignored_leaves_the_child_known_and_down(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("a"))) as running:
        rig.habits["a"].starts = ["ignore"]
        await rig.crash("a")

        assert states(running) == {"a": "undefined"}


@timeless
async def test_a_restart_by_hand_that_fails_keeps_the_child_and_is_not_counted(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(0), children=rig.children("a"))
    async with rig.run(tree) as running:
        await running.terminate_child("a")
        rig.habits["a"].starts = ["fail"]
        with pytest.raises(FailedToStartChild):
            await running.restart_child("a")
        assert states(running) == {"a": "undefined"}
        assert running.restarts() == 0

        assert (await running.restart_child("a")).status == "up"


@timeless
async def test_a_child_whose_first_start_fails_is_forgotten_and_not_counted(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(0), children=rig.children("a"))
    async with rig.run(tree) as running:
        with pytest.raises(FailedToStartChild):
            await running.start_child(rig.child("b", Habit(always="fail")))

        assert states(running) == {"a": "up"}
        assert (await running.start_child(rig.child("b"))).status == "up"


@timeless
async def test_a_hanging_restart_counts_as_one_attempt_after_its_timeout(rig: Rig) -> None:
    tree = Supervisor(
        "root", restart=Restart(1, within=1000), children=rig.children("a", start_timeout=7)
    )

    with pytest.raises(RestartLimitExceeded, match="start_timeout=7"):
        async with rig.run(tree) as running:
            rig.habits["a"].always = "hang"
            await rig.crash("a")
            assert states(running) == {"a": "starting"}
            await rig.clock.sleep(100)
    assert rig.clock.monotonic() == pytest.approx(7)


@timeless
async def test_a_start_that_swallows_its_cancellation_is_cut_off(rig: Rig) -> None:
    async def deaf(*, task_status: object) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                rig.log.append("swallowed")

    tree = Supervisor("root")
    async with rig.run(tree) as running:
        with pytest.raises(FailedToStartChild):
            await running.start_child(Child(deaf, start_timeout=2, shutdown=3))

    assert rig.clock.monotonic() == 5
    assert rig.log == ["swallowed"]
