"""Which exits lead to a restart, and who is restarted with whom, in which order."""

import asyncio
import itertools
from typing import Any

import pytest

from everstep import Child, Restart, RestartLimitExceeded, Supervisor
from everstep.supervisor.services.spec import Strategy

from .kit import Habit, Rig, states, timeless


@pytest.mark.parametrize("order", ["end", "shutdown", "info", "crash", "cancel"])
@timeless
async def test_a_permanent_child_is_started_again_after_every_exit(rig: Rig, order: str) -> None:
    tree = Supervisor("root", restart=Restart(1), children=rig.children("a"))

    with pytest.raises(RestartLimitExceeded):
        async with rig.run(tree) as running:
            await rig.order(f"{order} a")
            assert rig.took() == ["+a", "+a"]
            assert (states(running), running.restarts()) == ({"a": "up"}, 1)

            await rig.order(f"{order} a")


@pytest.mark.parametrize("order", ["end", "shutdown", "info"])
@timeless
async def test_a_transient_child_that_ended_well_stays_known_and_down(rig: Rig, order: str) -> None:
    tree = Supervisor("root", children=rig.children("a", restart="transient"))
    async with rig.run(tree) as running:
        await rig.order(f"{order} a")

        assert states(running) == {"a": "undefined"}
        assert running.count() == (1, 0, 0, 1)
        assert running.restarts() == 0
        assert (await running.restart_child("a")).status == "up"


@pytest.mark.parametrize("order", ["crash", "cancel"])
@timeless
async def test_a_transient_child_that_crashed_is_started_again(rig: Rig, order: str) -> None:
    tree = Supervisor("root", children=rig.children("a", restart="transient"))
    async with rig.run(tree) as running:
        await rig.order(f"{order} a")

        assert states(running) == {"a": "up"}
        assert running.restarts() == 1


@pytest.mark.parametrize("order", ["end", "shutdown", "info", "crash", "cancel"])
@timeless
async def test_a_temporary_child_goes_with_its_specification(rig: Rig, order: str) -> None:
    tree = Supervisor("root", children=rig.children("a", restart="temporary"))
    async with rig.run(tree) as running:
        await rig.order(f"{order} a")
        assert states(running) == {}

        await running.start_child(rig.child("a", restart="temporary"))
        assert states(running) == {"a": "up"}


@pytest.mark.parametrize(
    ("restart", "order", "left"),
    [
        ("temporary", "crash", {"b": "up"}),
        ("temporary", "end", {"b": "up"}),
        ("transient", "shutdown", {"a": "undefined", "b": "up"}),
        ("transient", "end", {"a": "undefined", "b": "up"}),
    ],
)
@pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
@timeless
async def test_an_exit_without_a_restart_disturbs_no_sibling_and_costs_no_budget(
    rig: Rig, strategy: Strategy, restart: Any, order: str, left: dict[str, str]
) -> None:
    children = [rig.child("a", restart=restart), rig.child("b")]
    tree = Supervisor("root", strategy=strategy, restart=Restart(0), children=children)
    async with rig.run(tree) as running:
        await rig.order(f"{order} a")

        assert states(running) == left
        assert rig.log == ["+a", "+b"]


@pytest.mark.parametrize(
    ("strategy", "names", "crashes", "expected"),
    [
        ("one_for_one", "ab", "a", ["+a"]),
        ("one_for_all", "abc", "b", ["-c", "-a", "+a", "+b", "+c"]),
        ("one_for_all", "abc", "a", ["-c", "-b", "+a", "+b", "+c"]),
        ("rest_for_one", "abcd", "b", ["-d", "-c", "+b", "+c", "+d"]),
        ("rest_for_one", "abcd", "d", ["+d"]),
        ("rest_for_one", "abcd", "a", ["-d", "-c", "-b", "+a", "+b", "+c", "+d"]),
    ],
)
@timeless
async def test_a_strategy_stops_in_reverse_and_starts_in_order(
    rig: Rig, strategy: Strategy, names: str, crashes: str, expected: list[str]
) -> None:
    tree = Supervisor("root", strategy=strategy, children=rig.children(names))
    async with rig.run(tree) as running:
        rig.took()
        await rig.crash(crashes)

        assert rig.took() == expected
        assert states(running) == dict.fromkeys(names, "up")
        assert running.restarts() == 1


@timeless
async def test_a_child_added_later_belongs_to_the_rest(rig: Rig) -> None:
    tree = Supervisor("root", strategy="rest_for_one", children=rig.children("ab"))
    async with rig.run(tree) as running:
        await running.start_child(rig.child("dyn"))
        rig.took()
        await rig.crash("b")

        assert rig.took() == ["-dyn", "+b", "+dyn"]


@timeless
async def test_a_transient_child_that_had_finished_comes_back_with_its_group(rig: Rig) -> None:
    children = [rig.child("a"), rig.child("t", restart="transient"), rig.child("c")]
    tree = Supervisor("root", strategy="one_for_all", children=children)
    async with rig.run(tree):
        await rig.order("end t")
        rig.took()
        await rig.crash("a")

        assert rig.took() == ["-c", "+a", "+t", "+c"]


@pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
@timeless
async def test_a_child_that_an_operator_stopped_stays_down_in_a_group_restart(
    rig: Rig, strategy: Strategy
) -> None:
    tree = Supervisor("root", strategy=strategy, children=rig.children("abc"))
    async with rig.run(tree) as running:
        await running.terminate_child("c")
        await rig.crash("a")
        assert states(running) == {"a": "up", "b": "up", "c": "undefined"}

        await running.restart_child("c")
        await rig.crash("a")
        assert states(running) == {"a": "up", "b": "up", "c": "up"}


@timeless
async def test_a_stopped_child_before_the_one_that_crashed_stays_down(rig: Rig) -> None:
    tree = Supervisor("root", strategy="rest_for_one", children=rig.children("abcd"))
    async with rig.run(tree) as running:
        await running.terminate_child("a")
        await running.terminate_child("c")
        await rig.crash("b")

        assert states(running) == {"a": "undefined", "b": "up", "c": "undefined", "d": "up"}


@pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
@timeless
async def test_a_temporary_child_is_gone_after_a_group_restart(
    rig: Rig, strategy: Strategy
) -> None:
    children = [rig.child("a"), rig.child("t", restart="temporary"), rig.child("c")]
    tree = Supervisor("root", strategy=strategy, children=children)
    async with rig.run(tree) as running:
        rig.took()
        await rig.crash("a")

        assert rig.took() == ["-c", "-t", "+a", "+c"]
        assert states(running) == {"a": "up", "c": "up"}


@pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
@timeless
async def test_nothing_starts_before_a_stuck_sibling_is_killed(
    rig: Rig, strategy: Strategy
) -> None:
    children = [rig.child("a"), rig.child("b", Habit(stuck=True), shutdown=0.15)]
    tree = Supervisor("root", strategy=strategy, children=children)
    async with rig.run(tree) as running:
        await rig.crash("a")
        assert rig.took() == ["+a", "+b", "-b"]
        assert states(running) == {"a": "restarting", "b": "stopping"}

        await rig.clock.sleep(0.149)
        assert rig.took() == []

        await rig.clock.sleep(0.002)
        assert rig.took() == ["+a", "+b"]
        assert rig.kinds().count("shutdown_error b") == 1
        rig.habits["b"].stuck = False


@timeless
async def test_an_odd_end_of_a_stopped_sibling_is_reported_and_not_counted(rig: Rig) -> None:
    children = [rig.child("a"), rig.child("b", Habit(answer="crash"))]
    tree = Supervisor("root", strategy="one_for_all", restart=Restart(1), children=children)
    async with rig.run(tree) as running:
        await rig.crash("a")

        assert states(running) == {"a": "up", "b": "up"}
        assert running.restarts() == 1
        assert rig.kinds(unexpected=True) == ["child_exited a", "shutdown_error b"]
        rig.habits["b"].answer = "shutdown"


@pytest.mark.parametrize(
    ("strategy", "order", "survives"),
    [
        ("one_for_all", "ab", True),
        ("one_for_one", "ab", False),
        ("rest_for_one", "ac", True),
        ("rest_for_one", "ca", False),
    ],
)
@timeless
async def test_of_two_crashes_in_one_tick_a_group_restart_takes_in_the_second(
    rig: Rig, strategy: Strategy, order: str, survives: bool
) -> None:
    tree = Supervisor("root", strategy=strategy, restart=Restart(1), children=rig.children("abc"))

    async def body() -> None:
        async with rig.run(tree) as running:
            await rig.crash(*order)
            assert running.restarts() == 1
            assert set(states(running).values()) == {"up"}

    if survives:
        await body()
    else:
        with pytest.raises(RestartLimitExceeded):
            await body()


@timeless
async def test_an_exit_of_an_earlier_life_is_dropped(rig: Rig) -> None:
    tree = Supervisor(
        "root", strategy="one_for_all", restart=Restart(1), children=rig.children("ab")
    )
    async with rig.run(tree) as running:
        rig.orders["a"].set_result("crash")
        rig.orders["b"].set_result("crash")
        await rig.settle()
        await rig.settle()

        assert [info.incarnation for info in running.children()] == [4, 3]
        assert running.restarts() == 1


@timeless
async def test_between_the_restarts_of_many_crashes_other_tasks_run(rig: Rig) -> None:
    names = [f"child-{n}" for n in range(200)]
    children = [rig.child(name) for name in names]
    turns: list[int] = []

    async def bystander() -> None:
        while True:
            turns.append(len(rig.log))
            await asyncio.sleep(0)

    async with rig.run(Supervisor("root", restart=Restart(1000), children=children)):
        rig.took()
        watching = asyncio.ensure_future(bystander())
        for name in names:
            rig.orders[name].set_result("crash")
        while len(rig.log) < 200:
            await asyncio.sleep(0)
        watching.cancel()

    steps = [after - before for before, after in itertools.pairwise(turns)]
    assert max(steps) <= 2


@timeless
async def test_a_permanent_child_that_returns_at_once_ends_by_the_limit(rig: Rig) -> None:
    rig.habits["a"] = Habit()

    async def returns() -> None:
        rig.log.append("+a")

    with pytest.raises(RestartLimitExceeded, match="4 failures within 5 s and max_restarts=3"):
        async with rig.run(Supervisor("root", children=[Child(returns)])):
            await rig.clock.sleep(100)
    assert rig.log == ["+a"] * 4
