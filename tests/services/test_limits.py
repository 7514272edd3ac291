"""How often a supervisor restarts, how long it waits before, and how it gives up."""

import asyncio
import itertools
import logging
import random
from typing import Any

import pytest
from tenacity import wait_exponential, wait_fixed

from everstep import (
    Restart,
    RestartLimitExceeded,
    Supervisor,
    SupervisorFailed,
    exponential,
    fixed,
    from_tenacity,
    none,
    supervise,
)
from everstep.actors.backoff import Jitter
from everstep.supervisor.restart import backoff_delay
from everstep.supervisor.services.policy import Window, limit_hit, out_of_reach

from .kit import Boom, Habit, Rig, states, timeless


@timeless
async def test_without_budget_the_first_crash_stops_the_others_in_reverse(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(0), children=rig.children("abc"))

    with pytest.raises(RestartLimitExceeded) as caught:
        async with rig.run(tree):
            await rig.crash("b")
            raise AssertionError("the body is cancelled")

    assert rig.log == ["+a", "+b", "+c", "-c", "-a"]
    assert (caught.value.supervisor, caught.value.child) == ("root", "b")
    assert isinstance(caught.value.__cause__, Boom)
    assert "limit_reached b" in rig.kinds(unexpected=True)


@timeless
async def test_one_more_than_the_limit_gives_up_and_all_children_share_it(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(2, within=1000), children=rig.children("abc"))

    with pytest.raises(RestartLimitExceeded):
        async with rig.run(tree) as running:
            await rig.crash("a")
            await rig.crash("b")
            assert running.restarts() == 2
            await rig.crash("c")


@timeless
async def test_crashes_further_apart_than_the_window_never_add_up(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(1, within=1), children=rig.children("a"))
    async with rig.run(tree) as running:
        for _ in range(4):
            await rig.crash("a")
            rig.clock.advance(2.1)

        assert states(running) == {"a": "up"}


@pytest.mark.parametrize(("apart", "survives"), [(0.999, False), (1.0, False), (1.001, True)])
def test_the_window_is_exact_and_both_its_ends_count(apart: float, survives: bool) -> None:
    window = Window()
    restart = Restart(1, within=1)

    assert limit_hit(restart, window.add(0.25, 1), 1) is None
    assert (limit_hit(restart, window.add(0.25 + apart, 1), 1) is None) == survives


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
@timeless
async def test_a_jump_of_the_wall_clock_changes_no_budget(rig: Rig, jump: float) -> None:
    tree = Supervisor("root", restart=Restart(1), children=rig.children("a"))

    with pytest.raises(RestartLimitExceeded):
        async with rig.run(tree):
            await rig.crash("a")
            rig.clock.jump(jump)
            await rig.crash("a")


@timeless
async def test_stopping_and_starting_by_hand_is_never_counted(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(1), children=rig.children("a"))
    async with rig.run(tree) as running:
        for _ in range(5):
            await running.terminate_child("a")
            await running.restart_child("a")

        assert running.restarts() == 0


@timeless
async def test_a_group_restart_counts_once(rig: Rig) -> None:
    tree = Supervisor("root", strategy="one_for_all", children=rig.children("abcdef"))
    async with rig.run(tree) as running:
        await rig.crash("c")

        assert running.restarts() == 1


@timeless
async def test_giving_up_stops_each_child_with_its_own_budget(rig: Rig) -> None:
    children = [
        rig.child("a", Habit(cleanup=2)),
        rig.child("b", Habit(stuck=True), shutdown=1),
        rig.child("c", shutdown="brutal"),
        rig.child("x"),
    ]
    began = rig.clock.monotonic()

    with pytest.raises(RestartLimitExceeded):
        async with rig.run(Supervisor("root", restart=Restart(0), children=children)):
            await rig.crash("x")

    assert rig.log[4:] == ["-b", "-a", ".a"]
    assert rig.clock.monotonic() - began == pytest.approx(3)
    assert rig.kinds(unexpected=True)[-2:] == ["child_late b", "shutdown_error b"]


# --- backoff --------------------------------------------------------------------------------


@timeless
async def test_the_backoff_grows_with_the_failures_in_a_row(rig: Rig) -> None:
    restart = Restart(100, backoff=exponential(1, maximum=5))
    async with rig.run(Supervisor("root", restart=restart, children=rig.children("a"))) as running:
        waited: list[float | None] = []
        for _ in range(5):
            await rig.crash("a")
            waited.append(running.child("a").restart_in)
            assert states(running) == {"a": "restarting"}
            await rig.clock.sleep(6)
            assert states(running) == {"a": "up"}

    assert waited == pytest.approx([1, 2, 4, 5, 5])
    delays = [event.delay for event in rig.events if event.kind == "restart_scheduled"]
    assert delays == [1, 2, 4, 5, 5]


@pytest.mark.parametrize(
    ("jitter", "chance", "delay"),
    [
        ("equal", 0.0, 2.0),
        ("equal", 0.5, 3.0),
        ("equal", 0.999, 3.998),
        ("full", 0.0, 0.0),
        ("full", 0.5, 2.0),
        ("full", 0.999, 3.996),
        ("none", 0.0, 4.0),
        ("none", 0.999, 4.0),
    ],
)
def test_a_jitter_says_how_much_of_a_backoff_is_waited(
    jitter: Jitter, chance: float, delay: float
) -> None:
    restart = Restart(backoff=fixed(4), jitter=jitter)

    assert backoff_delay(restart, 1, lambda: chance) == pytest.approx(delay)


def a_quarter_each(number: int) -> float:
    return number / 4


@pytest.mark.parametrize("jitter", ["full", "equal", "none"])
@pytest.mark.parametrize(
    ("backoff", "first", "second", "late"),
    [
        (exponential(0.5, maximum=30), 0.5, 1, 30),
        (fixed(7), 7, 7, 7),
        (none(), 0, 0, 0),
        (None, 0, 0, 0),
        (a_quarter_each, 0.25, 0.5, 275),
        (from_tenacity(wait_exponential(max=9)), 1, 2, 9),
        (from_tenacity(wait_fixed(2)), 2, 2, 2),
    ],
)
def test_every_kind_of_backoff_is_the_most_that_is_waited(
    backoff: Any, first: float, second: float, late: float, jitter: Jitter
) -> None:
    restart = Restart(backoff=backoff, jitter=jitter)

    for number, most in ((1, first), (2, second), (1_100, late)):
        assert backoff_delay(restart, number, lambda: 1.0) == most
        assert backoff_delay(restart, number, lambda: 0.0) <= most


@timeless
async def test_the_jitter_of_a_child_comes_from_the_injected_source(rig: Rig) -> None:
    restart = Restart(100, backoff=fixed(8), jitter="full")
    drawn = iter([0.25, 0.75])
    tree = Supervisor("root", restart=restart, children=rig.children("a"))
    async with supervise(tree, clock=rig.clock, chance=lambda: next(drawn)) as running:
        for waited in (2, 6):
            await rig.crash("a")
            assert running.child("a").restart_in == pytest.approx(waited)
            await rig.clock.sleep(waited)
            assert states(running) == {"a": "up"}


@pytest.mark.parametrize(("lived", "delay"), [(299, 2), (300, 1), (301, 1)])
@timeless
async def test_a_child_that_ran_long_enough_begins_its_backoff_anew(
    rig: Rig, lived: float, delay: float
) -> None:
    restart = Restart(100, backoff=exponential(1), reset_after=300)
    async with rig.run(Supervisor("root", restart=restart, children=rig.children("a"))):
        await rig.crash("a")
        await rig.clock.sleep(1.5)
        rig.clock.advance(lived - 0.5 - 1e-9)
        await rig.crash("a")

    scheduled = [event.delay for event in rig.events if event.kind == "restart_scheduled"]
    assert scheduled == [1, delay]


@timeless
async def test_the_group_is_down_while_a_child_backs_off(rig: Rig) -> None:
    restart = Restart(backoff=fixed(10))
    tree = Supervisor(
        "root", strategy="rest_for_one", restart=restart, children=rig.children("abc")
    )
    async with rig.run(tree) as running:
        rig.took()
        await rig.crash("b")
        assert rig.took() == ["-c"]
        assert states(running) == {"a": "up", "b": "restarting", "c": "undefined"}

        await rig.clock.sleep(10)
        assert rig.took() == ["+b", "+c"]


@timeless
async def test_too_many_failures_in_a_row_end_what_a_backoff_would_hide(rig: Rig) -> None:
    restart = Restart(3, backoff=fixed(60), max_failures=4)
    tree = Supervisor("root", restart=restart, children=rig.children("a"))

    with pytest.raises(RestartLimitExceeded, match="5 failures of one child in a row"):
        async with rig.run(tree):
            for _ in range(4):
                await rig.crash("a")
                await rig.clock.sleep(61)
            await rig.crash("a")


@timeless
async def test_children_that_fail_together_come_back_spread(rig: Rig) -> None:
    names = [f"c{n}" for n in range(100)]
    restart = Restart(1000, backoff=fixed(10))
    tree = Supervisor("root", restart=restart, children=[rig.child(name) for name in names])
    async with supervise(tree, clock=rig.clock, chance=random.Random(7).random) as running:
        await rig.crash(*names)
        due = sorted(info.restart_in or 0 for info in running.children())

    assert 5 <= due[0] < 5.5 and 9.5 < due[-1] <= 10
    assert max(after - before for before, after in itertools.pairwise(due)) < 0.5


@timeless
async def test_a_stop_during_a_backoff_is_done_at_once(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(backoff=fixed(60)), children=rig.children("a"))
    async with rig.run(tree):
        await rig.crash("a")
        before = rig.clock.monotonic()

    assert rig.clock.monotonic() == before
    assert rig.clock.waiting() == 0


@pytest.mark.parametrize(
    ("restart", "unreachable"),
    [
        (Restart(5, 5, backoff=exponential(0.2, maximum=30)), True),
        (Restart(10, 60, backoff=exponential(0.2, maximum=30)), True),
        (Restart(3, 5, backoff=exponential(0.2, maximum=30)), False),
        (Restart(5, 30, backoff=exponential(0.2, maximum=30)), False),
        (Restart(3, 5, backoff=fixed(6)), True),
        (Restart(3, 5, backoff=fixed(6), max_failures=10), False),
        (Restart(0, 5, backoff=fixed(6)), False),
        (Restart(3, 5), False),
    ],
)
@timeless
async def test_a_limit_that_the_backoff_puts_out_of_reach_is_a_warning_at_the_start(
    rig: Rig, restart: Restart, unreachable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "everstep"):
        async with rig.run(Supervisor("root", restart=restart)):
            pass

    warned = [event.reason for event in rig.events if event.kind == "limit_out_of_reach"]
    assert bool(warned) == unreachable
    assert all("out of reach" in reason and "max_failures=10" in reason for reason in warned)
    assert bool(caplog.records) == unreachable


@pytest.mark.parametrize(
    ("restart", "arithmetic"),
    [
        (
            Restart(5, 5, backoff=exponential(0.2, maximum=30)),
            "0.2 + 0.4 + 0.8 + 1.6 + 3.2 = 6.2 s (at least 3.1 s with jitter), so a child",
        ),
        (Restart(3, 5, backoff=fixed(12)), "12 = 12 s (at least 6 s with jitter), so a child"),
        (Restart(3, 5, backoff=fixed(12)), "always fails would be restarted for ever"),
        (
            Restart(3, 5, backoff=fixed(12), jitter="full"),
            "12 = 12 s (at least 0 s with jitter), so a child that always fails may be",
        ),
        (
            Restart(3, 5, backoff=fixed(2), jitter="none"),
            "2 + 2 + 2 = 6 s, so a child that always fails would be restarted for ever",
        ),
    ],
)
def test_the_warning_shows_its_arithmetic(restart: Restart, arithmetic: str) -> None:
    said = out_of_reach(restart)

    assert said is not None
    assert arithmetic in said


@pytest.mark.parametrize(
    "error", [ZeroDivisionError, asyncio.CancelledError, GeneratorExit, BaseException]
)
@timeless
async def test_a_backoff_that_fails_stops_the_tree_loudly(
    rig: Rig, error: type[BaseException]
) -> None:
    def broken(n: int) -> float:
        if n > 1:
            raise error
        return 0

    restart = Restart(1, 5, backoff=broken)
    with pytest.raises(SupervisorFailed, match=error.__name__):
        async with rig.run(Supervisor("root", restart=restart, children=rig.children("abc"))):
            await rig.crash("b")
            rig.took()
            rig.clock.advance(10)
            await rig.crash("b")

    assert rig.log == ["-c", "-a"]
