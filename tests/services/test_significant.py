"""Significant children, whose exits end their supervisor."""

from typing import Any

import pytest

from everstep import BadCombination, Restart, Supervisor
from everstep.supervisor.services.spec import AutoShutdown, Strategy

from .kit import Rig, states, timeless

ALL_DOWN = "supervisor_ended"


@pytest.mark.parametrize("mode", ["never", "any", "all"])
@pytest.mark.parametrize("order", ["end", "crash"])
@timeless
async def test_a_child_that_is_not_significant_never_ends_its_supervisor(
    rig: Rig, mode: AutoShutdown, order: str
) -> None:
    children = [rig.child("a", restart="temporary"), rig.child("b")]
    async with rig.run(Supervisor("root", auto_shutdown=mode, children=children)) as running:
        await rig.order(f"{order} a")

        assert states(running) == {"b": "up"}


@pytest.mark.parametrize(
    ("restart", "order", "ends"),
    [
        ("temporary", "end", True),
        ("temporary", "crash", True),
        ("temporary", "cancel", True),
        ("transient", "end", True),
        ("transient", "shutdown", True),
        ("transient", "info", True),
        ("transient", "crash", False),
        ("transient", "cancel", False),
        ("transient", "ignore", False),
    ],
)
@timeless
async def test_any_significant_child_that_ends_for_good_ends_the_rest_in_reverse(
    rig: Rig, restart: Any, order: str, ends: bool
) -> None:
    children = [
        rig.child("a"),
        rig.child("s", restart=restart, significant=True),
        rig.child("c"),
    ]
    async with rig.run(Supervisor("root", auto_shutdown="any", children=children)):
        rig.took()
        await rig.order(f"{order} s")

        assert (ALL_DOWN in rig.kinds()) == ends
        if ends:
            assert rig.took() == ["-c", "-a"]
            assert rig.events[-1].reason == "shutdown: 'auto_shutdown'"


@timeless
async def test_a_significant_child_that_an_operator_stops_does_not_end_it(rig: Rig) -> None:
    children = [rig.child("s", restart="transient", significant=True), rig.child("b")]
    async with rig.run(Supervisor("root", auto_shutdown="any", children=children)) as running:
        await running.terminate_child("s")

        assert states(running) == {"s": "undefined", "b": "up"}


@timeless
async def test_all_significant_children_must_end_and_the_last_takes_the_others_along(
    rig: Rig,
) -> None:
    children = [
        rig.child("a", restart="transient", significant=True),
        rig.child("b", restart="transient", significant=True),
        rig.child("c"),
    ]
    async with rig.run(Supervisor("root", auto_shutdown="all", children=children)) as running:
        await rig.order("end a")
        assert states(running) == {"a": "undefined", "b": "up", "c": "up"}

        await rig.order("end b")
        assert rig.kinds()[-1] == ALL_DOWN
        assert rig.log == ["+a", "+b", "+c", "-c"]


@timeless
async def test_a_stopped_significant_child_is_not_waited_for(rig: Rig) -> None:
    children = rig.children("ab", restart="transient", significant=True)
    async with rig.run(Supervisor("root", auto_shutdown="all", children=children)) as running:
        await running.terminate_child("a")
        await rig.order("end b")

        assert rig.kinds()[-1] == ALL_DOWN


@timeless
async def test_a_significant_child_that_waits_for_its_restart_is_waited_for(rig: Rig) -> None:
    children = rig.children("ab", restart="transient", significant=True)
    tree = Supervisor(
        "root", auto_shutdown="all", restart=Restart(backoff=lambda n: 10.0), children=children
    )
    async with rig.run(tree) as running:
        await rig.crash("a")
        await rig.order("end b")
        assert states(running) == {"a": "restarting", "b": "undefined"}

        await rig.clock.sleep(10)
        await rig.order("end a")
        assert rig.kinds()[-1] == ALL_DOWN


@pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
@timeless
async def test_a_significant_child_stopped_for_its_sibling_does_not_end_it(
    rig: Rig, strategy: Strategy
) -> None:
    children = [rig.child("a"), rig.child("s", restart="temporary", significant=True)]
    tree = Supervisor("root", strategy=strategy, auto_shutdown="any", children=children)
    async with rig.run(tree) as running:
        await rig.crash("a")

        assert states(running) == {"a": "up"}


@pytest.mark.parametrize(("significant", "outer_lives"), [(True, False), (False, True)])
@timeless
async def test_automatic_shutdown_climbs_through_significant_supervisors_only(
    rig: Rig, significant: bool, outer_lives: bool
) -> None:
    inner = Supervisor(
        "inner",
        auto_shutdown="any",
        restart_type="transient",
        significant=significant,
        children=rig.children("w", restart="transient", significant=True),
    )
    tree = Supervisor("outer", auto_shutdown="any", children=[inner, rig.child("b")])
    async with rig.run(tree) as running:
        await rig.order("end w")

        if outer_lives:
            assert states(running) == {"inner": "undefined", "b": "up"}
        assert (rig.log[-1] == "-b") != outer_lives


@timeless
async def test_a_permanent_supervisor_that_shut_itself_down_is_started_again(rig: Rig) -> None:
    inner = Supervisor(
        "inner",
        auto_shutdown="any",
        children=rig.children("w", restart="transient", significant=True),
    )
    async with rig.run(Supervisor("outer", children=[inner])) as running:
        await rig.order("end w")

        assert states(running.supervisor("inner")) == {"w": "up"}
        assert running.restarts() == 1


@timeless
async def test_a_mode_that_is_switched_holds_for_later_exits(rig: Rig) -> None:
    def significant(name: str) -> Any:
        return rig.child(name, restart="temporary", significant=True)

    tree = Supervisor("root", auto_shutdown="any", children=[significant("a"), significant("b")])
    async with rig.run(tree) as running:
        await running.reconfigure(auto_shutdown="never")
        await rig.order("end a")
        assert states(running) == {"b": "up"}
        with pytest.raises(BadCombination, match="auto_shutdown='never'"):
            await running.start_child(significant("c"))

        await running.reconfigure(auto_shutdown="all")
        await running.start_child(significant("c"))
        await rig.order("end b")
        assert states(running) == {"c": "up"}

        await running.reconfigure(auto_shutdown="any")
        await rig.order("end c")
        assert rig.kinds()[-1] == ALL_DOWN


@timeless
async def test_a_tree_that_shut_itself_down_leaves_the_body_alone(rig: Rig) -> None:
    children = rig.children("s", restart="temporary", significant=True)
    async with rig.run(Supervisor("root", auto_shutdown="any", children=children)) as running:
        rig.orders["s"].set_result("end")
        await running.wait()
        await rig.clock.sleep(50)
    assert rig.clock.monotonic() == pytest.approx(50)
