"""What happens while a restart is under way, and in one turn of the loop, as a running OTP has it.

Each row was played on Erlang/OTP 25. Those that differ from it, by decision, are marked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from everstep import (
    Child,
    EverstepError,
    Restart,
    RestartLimitExceeded,
    RunningSupervisor,
    Supervisor,
)

from .kit import Rig, states, timeless

KINDS = {"~": "transient", "-": "temporary"}
Play = Callable[[RunningSupervisor], Awaitable[None]]


def family(rig: Rig, text: str) -> list[Child]:
    """Children by name: `a` is permanent, `a~` transient, `a-` temporary, `a~!` significant."""
    return [
        rig.child(
            word[0],
            restart=KINDS.get(word[1:2], "permanent"),
            significant=word.endswith("!"),
            start_timeout=5,
        )
        for word in text.split()
    ]


def shown(running: RunningSupervisor) -> str:
    return " ".join(f"{name}:{status}" for name, status in states(running).items())


async def outcome(rig: Rig, tree: Supervisor, play: Play) -> tuple[str, str]:
    """The log of what was played, and what it left."""
    try:
        async with rig.run(tree) as running:
            rig.took()
            await play(running)
            if "supervisor_ended" not in rig.kinds():
                return " ".join(rig.took()), shown(running)
    except RestartLimitExceeded:
        pass
    return " ".join(rig.took()), "ended"


async def answer(call: Any) -> str:
    try:
        await call
    except EverstepError as declined:
        return type(declined).__name__
    return "ok"


def words(value: object) -> str | None:
    """Name a row by its log and what it leaves."""
    return value if isinstance(value, str) and value else None


def issue(rig: Rig, running: RunningSupervisor, order: str) -> list[asyncio.Future[str]]:
    """Have a child end, or send a call, which is answered in its turn."""
    what, name = order.split()
    if what in ("crash", "end"):
        rig.orders[name].set_result(what)
        return []
    argument = rig.child(name) if what == "start" else name
    return [asyncio.ensure_future(answer(getattr(running, f"{what}_child")(argument)))]


UNDER_WAY: list[tuple[Any, ...]] = [
    # strategy, children, who crashes, whose start takes time, how it goes, what comes up meanwhile,
    # what calls answer, log, what is left
    ("rest_for_one", "a b c d", "b", "b", "fail", ["crash a"], [],
     "-d -c !b +a +b +c +d", "a:up b:up c:up d:up"),
    ("rest_for_one", "a b c d", "b", "c", "fail", ["restart d", "crash a"], ["ok"],
     "-d -c +b !c +d -d -b +a +b +c +d", "a:up b:up c:up d:up"),
    ("one_for_all", "a b c", "c", "b", "fail", ["crash a"], [],
     "-b -a +a !b +a +b +c", "a:up b:up c:up"),
    ("one_for_all", "a b c", "c", "b", "ok", ["crash a"], [],
     "-b -a +a +b +c -c -b +a +b +c", "a:up b:up c:up"),
    ("one_for_one", "a b c", "b", "b", "ok", ["crash a"], [],
     "+b +a", "a:up b:up c:up"),
    ("rest_for_one", "a b c", "b", "b", "fail", ["terminate b"], ["ok"],
     "-c !b", "a:up b:undefined c:undefined"),
    ("one_for_all", "a b c", "b", "b", "fail", ["terminate b"], ["ok"],
     "-c -a +a !b", "a:up b:undefined c:undefined"),
    ("rest_for_one", "a b c", "b", "b", "fail", ["restart c"], ["ok"],
     "-c !b +c -c +b +c", "a:up b:up c:up"),
    ("rest_for_one", "a b c", "b", "b", "fail", ["delete c"], ["ok"],
     "-c !b +b", "a:up b:up"),
    ("rest_for_one", "a b c", "b", "b", "fail", ["start z"], ["ok"],
     "-c !b +z -z +b +c +z", "a:up b:up c:up z:up"),
    ("one_for_all", "a b c", "b", "b", "fail", ["start z"], ["ok"],
     "-c -a +a !b +z -z -a +a +b +c +z", "a:up b:up c:up z:up"),
    ("one_for_one", "a b c", "b", "b", "fail",
     ["start z", "delete b", "restart b", "start b", "terminate b", "delete b"],
     ["ok", "Restarting", "Restarting", "AlreadyPresent", "ok", "ok"],
     "!b +z", "a:up c:up z:up"),
    ("one_for_all", "a b c", "a", "b", "fail",
     ["restart b", "delete b", "restart c", "start c", "delete c"],
     ["Restarting", "Restarting", "ok", "AlreadyStarted", "Running"],
     "-c -b +a !b +c -c -a +a +b +c", "a:up b:up c:up"),
    ("one_for_all", "t~ b c", "c", "b", "ok", ["end t"], [],
     "-b -t +t +b +c", "t:undefined b:up c:up"),
    ("one_for_one", "s~! u~! c", "s", "s", "fail", ["end u"], [],
     "!s +s", "s:up u:undefined c:up"),
    ("one_for_one", "s~! u~! c", "s", "s", "fail", ["terminate s", "end u"], ["ok"],
     "!s -c", "ended"),
    ("one_for_one", "a b", "a", "a", "ok", ["terminate b", "crash b"], ["ok"],
     "+a", "a:up b:undefined"),
    ("one_for_one", "a b", "a", "a", "ok", ["crash b", "terminate b"], ["ok"],
     "+a +b -b", "a:up b:undefined"),
    ("one_for_one", "a b", "a", "a", "ok", ["terminate b", "crash b", "restart b"], ["ok", "ok"],
     "+a +b", "a:up b:up"),
    ("one_for_one", "a t-", "a", "a", "ok", ["crash t", "start t"], ["ok"],
     "+a +t", "a:up t:up"),
    ("one_for_one", "a t-", "a", "a", "ok", ["start t", "crash t"], ["AlreadyStarted"],
     "+a", "a:up"),
    ("one_for_one", "a t~", "a", "a", "ok", ["end t", "restart t"], ["ok"],
     "+a +t", "a:up t:up"),
    ("one_for_one", "a t~", "a", "a", "ok", ["restart t", "end t"], ["Running"],
     "+a", "a:up t:undefined"),
    # what an operator has stopped stays down in a group restart; in OTP it comes back
    ("rest_for_one", "a b c", "b", "b", "fail", ["terminate c"], ["ok"],
     "-c !b +b", "a:up b:up c:undefined"),
    ("one_for_all", "a b c", "b", "b", "fail", ["terminate a"], ["ok"],
     "-c -a +a !b -a +b +c", "a:undefined b:up c:up"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "children", "crashes", "slow", "then", "orders", "answers", "log", "after"),
    UNDER_WAY,
    ids=words,
)
@timeless
async def test_what_comes_up_while_a_restart_is_under_way_is_dealt_with_after_it(
    rig: Rig,
    strategy: Any,
    children: str,
    crashes: str,
    slow: str,
    then: str,
    orders: list[str],
    answers: list[str],
    log: str,
    after: str,
) -> None:
    answered: list[str] = []

    async def play(running: RunningSupervisor) -> None:
        rig.habits[slow].starts = ["hang"]
        rig.habits[slow].hang = 3 if then == "ok" else 1e9
        await rig.crash(crashes)
        issued: list[asyncio.Future[str]] = []
        for order in orders:
            issued += issue(rig, running, order)
            await rig.settle()
        await rig.clock.sleep(6)
        answered.extend([await call for call in issued])

    tree = Supervisor(
        "root",
        strategy=strategy,
        restart=Restart(9, within=1000),
        auto_shutdown="all" if "!" in children else "never",
        children=family(rig, children),
    )
    assert await outcome(rig, tree, play) == (log, after)
    assert answered == answers


IN_ONE_TURN: list[tuple[Any, ...]] = [
    # strategy, children, auto_shutdown, max_restarts, bad starts, ends, log, what is left
    ("one_for_all", "t~ b c", "never", 5, {}, ["end t", "crash b"],
     "-c +t +b +c", "t:up b:up c:up"),
    ("one_for_all", "t~ b c", "never", 5, {}, ["crash b", "end t"],
     "-c +t +b +c", "t:up b:up c:up"),
    ("one_for_all", "t- b", "never", 5, {}, ["crash b", "end t"], "+b", "b:up"),
    ("one_for_all", "s~! b", "any", 5, {}, ["crash b", "end s"], "+s +b", "s:up b:up"),
    ("one_for_all", "s~! b", "any", 5, {}, ["end s", "crash b"], "", "ended"),
    ("one_for_all", "a b c", "never", 1, {}, ["crash a", "crash b", "crash c"],
     "+a +b +c", "a:up b:up c:up"),
    ("rest_for_one", "a b c", "never", 2, {}, ["crash c", "crash b", "crash a"],
     "+c -c +b +c -c -b", "ended"),
    ("one_for_one", "a b c d", "never", 1, {}, ["crash a", "crash c"], "+a -d -b -a", "ended"),
    ("one_for_one", "s~! b", "any", 5, {"s": ["ignore"]}, ["crash s"], "!s", "s:undefined b:up"),
    ("one_for_one", "s~! u~! b", "all", 5, {"s": ["ignore"]}, ["crash s", "end u"],
     "!s -b", "ended"),
    ("rest_for_one", "a b c", "never", 5, {"b": ["ignore"]}, ["crash b"],
     "-c !b +c", "a:up b:undefined c:up"),
    ("one_for_all", "a b c", "never", 5, {"a": ["ignore"]}, ["crash b"],
     "-c -a !a +b +c", "a:undefined b:up c:up"),
    ("rest_for_one", "a b c", "never", 0, {}, ["crash b"], "-c -a", "ended"),
    ("rest_for_one", "a b c", "never", 1, {"c": ["fail"]}, ["crash b"],
     "-c +b !c -b -a", "ended"),
    ("rest_for_one", "a b c d", "never", 2, {"c": ["fail"]}, ["crash b"],
     "-d -c +b !c +c +d", "a:up b:up c:up d:up"),
    ("rest_for_one", "a b c d", "never", 5, {"b": ["fail"], "c": ["fail"]}, ["crash a"],
     "-d -c -b +a !b +b !c +c +d", "a:up b:up c:up d:up"),
    ("one_for_all", "a b c", "never", 9, {"a": ["fail", "ok", "fail"], "c": ["fail"]}, ["crash b"],
     "-c -a !a +a +b !c -b -a !a +a +b +c", "a:up b:up c:up"),
    ("rest_for_one", "e g", "never", 9, {"e": ["fail"], "g": ["fail", "fail"]},
     ["crash g", "crash e"], "!g !e +e !g +g", "e:up g:up"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "children", "auto_shutdown", "most", "bad", "ends", "log", "after"),
    IN_ONE_TURN,
    ids=words,
)
@timeless
async def test_ends_in_one_turn_of_the_loop_are_dealt_with_in_their_order(
    rig: Rig,
    strategy: Any,
    children: str,
    auto_shutdown: Any,
    most: int,
    bad: dict[str, list[Any]],
    ends: list[str],
    log: str,
    after: str,
) -> None:
    async def play(running: RunningSupervisor) -> None:
        for name, starts in bad.items():
            rig.habits[name].starts = list(starts)
        await rig.order(*ends)

    tree = Supervisor(
        "root",
        strategy=strategy,
        restart=Restart(most, within=1000),
        auto_shutdown=auto_shutdown,
        children=family(rig, children),
    )
    assert await outcome(rig, tree, play) == (log, after)
