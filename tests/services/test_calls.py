"""What each management call answers in each state of a child."""

import asyncio
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from everstep import (
    AlreadyPresent,
    AlreadyStarted,
    BadCall,
    BadCombination,
    Child,
    DuplicateChild,
    EverstepError,
    NoProc,
    NotFound,
    Pool,
    Restart,
    RestartLimitExceeded,
    Running,
    RunningSupervisor,
    Supervisor,
)

from .kit import Rig, states, timeless

Calling = Callable[[RunningSupervisor, Rig], Any]

CALLS: dict[str, Calling] = {
    "start": lambda running, rig: running.start_child(rig.child("a")),
    "terminate": lambda running, rig: running.terminate_child("a"),
    "restart": lambda running, rig: running.restart_child("a"),
    "delete": lambda running, rig: running.delete_child("a"),
}


@pytest.mark.parametrize(
    ("call", "up", "undefined", "unknown"),
    [
        ("start", AlreadyStarted, AlreadyPresent, "up"),
        ("terminate", "undefined", "undefined", NotFound),
        ("restart", Running, "up", NotFound),
        ("delete", Running, "gone", NotFound),
    ],
)
@timeless
async def test_a_call_answers_by_the_state_of_the_child(
    rig: Rig, call: str, up: Any, undefined: Any, unknown: Any
) -> None:
    async with rig.run(Supervisor("root")) as running:
        for state, answer in (("up", up), ("undefined", undefined), ("unknown", unknown)):
            if state != "unknown":
                await running.start_child(rig.child("a"))
            if state == "undefined":
                await running.terminate_child("a")
            before = states(running)

            if isinstance(answer, str):
                await CALLS[call](running, rig)
                assert states(running).get("a", "gone") == answer
            else:
                with pytest.raises(answer) as caught:
                    await CALLS[call](running, rig)
                assert states(running) == before
                survives_pickling(caught.value)
            if "a" in states(running):
                await running.terminate_child("a")
                await running.delete_child("a")


def survives_pickling(error: EverstepError) -> None:
    copy: Any = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.child) == (type(error), str(error), "a")


@timeless
async def test_looking_for_an_unknown_child_finds_none(rig: Rig) -> None:
    async with rig.run(Supervisor("root")) as running:
        for look in (running.child, running.spec, running.supervisor):
            with pytest.raises(NotFound):
                look("a")


@timeless
async def test_a_child_started_again_by_hand_takes_its_old_place(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("abc"))) as running:
        before = running.child("b").incarnation
        await running.terminate_child("b")
        await running.restart_child("b")

        assert list(states(running)) == ["a", "b", "c"]
        assert running.child("b").incarnation > before


@timeless
async def test_a_deleted_child_that_is_started_anew_comes_last(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("abc"))) as running:
        await running.terminate_child("b")
        await running.delete_child("b")
        await running.start_child(rig.child("b"))

        assert list(states(running)) == ["a", "c", "b"]


@timeless
async def test_children_are_listed_the_newest_first(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("abc"))) as running:
        assert [info.id for info in running.children()] == ["c", "b", "a"]


@timeless
async def test_terminating_one_of_a_group_touches_no_other_and_is_not_counted(rig: Rig) -> None:
    tree = Supervisor(
        "root", strategy="one_for_all", restart=Restart(0), children=rig.children("ab")
    )
    async with rig.run(tree) as running:
        await running.terminate_child("a")

        assert states(running) == {"a": "undefined", "b": "up"}
        assert rig.log == ["+a", "+b", "-a"]


@timeless
async def test_a_terminated_temporary_child_is_forgotten(rig: Rig) -> None:
    tree = Supervisor("root", children=rig.children("a", restart="temporary"))
    async with rig.run(tree) as running:
        await running.terminate_child("a")

        assert states(running) == {}


@timeless
async def test_a_reference_is_no_id_for_a_supervisor_of_named_children(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("a"))) as running:
        with pytest.raises(NotFound):
            await running.terminate_child(running.child("a").ref)

        assert states(running) == {"a": "up"}


@timeless
async def test_a_crash_behind_a_queued_terminate_is_absorbed(rig: Rig) -> None:
    tree = Supervisor("root", restart=Restart(0), children=rig.children("a"))
    async with rig.run(tree) as running:
        call = asyncio.ensure_future(running.terminate_child("a"))
        await asyncio.sleep(0)
        rig.orders["a"].set_result("crash")
        await call

        assert states(running) == {"a": "undefined"}
        assert running.restarts() == 0


@timeless
async def test_a_child_whose_end_is_not_dealt_with_is_still_started(rig: Rig) -> None:
    tree = Supervisor("root", children=rig.children("a", restart="temporary"))
    async with rig.run(tree) as running:
        call = asyncio.ensure_future(running.start_child(rig.child("a", restart="temporary")))
        await asyncio.sleep(0)
        rig.orders["a"].set_result("end")

        with pytest.raises(AlreadyStarted):
            await call


@timeless
async def test_kinds_count_what_is_known_and_active_what_runs(rig: Rig) -> None:
    inner = [Supervisor(name) for name in ("one", "two", "three")]
    async with rig.run(Supervisor("root", children=inner)) as running:
        await running.terminate_child("two")

        counts = running.count()
        assert (counts.specs, counts.active, counts.supervisors, counts.workers) == (3, 2, 3, 0)


@timeless
async def test_a_read_back_specification_is_the_one_that_was_given(rig: Rig) -> None:
    given = rig.child("a", shutdown=2, restart="transient")
    async with rig.run(Supervisor("root", children=[given])) as running:
        assert running.spec("a") == given


@timeless
async def test_the_arguments_of_a_temporary_child_are_not_kept(rig: Rig) -> None:
    class Big:
        pass

    async def forgetful(big: Big) -> None:
        del big
        await asyncio.Event().wait()

    async with rig.run(Supervisor("root")) as running:
        big = Big()
        seen = weakref.ref(big)
        await running.start_child(Child(forgetful, args=(big,), id="a", restart="temporary"))
        await rig.settle()
        del big
        gc.collect()

        assert seen() is None
        assert running.spec("a") == Child(forgetful, id="a", restart="temporary")


# --- reconfiguration ----------------------------------------------------------------------


@timeless
async def test_new_children_of_a_reconfiguration_are_known_and_not_started(rig: Rig) -> None:
    async with rig.run(Supervisor("root")) as running:
        await running.reconfigure(children=rig.children("ab"))
        assert states(running) == {"a": "undefined", "b": "undefined"}

        await running.restart_child("a")
        assert states(running) == {"a": "up", "b": "undefined"}


@pytest.mark.parametrize("how", ["terminate", "group"])
@timeless
async def test_a_temporary_child_that_was_never_started_is_forgotten_like_one_that_has_ended(
    rig: Rig, how: str
) -> None:
    tree = Supervisor("root", strategy="one_for_all", children=rig.children("a"))
    async with rig.run(tree) as running:
        await running.reconfigure(children=[rig.child("t", restart="temporary")])
        assert states(running) == {"t": "undefined", "a": "up"}

        if how == "terminate":
            await running.terminate_child("t")
        else:
            await rig.crash("a")

        assert states(running) == {"a": "up"}


@timeless
async def test_a_reconfiguration_keeps_what_runs_under_its_new_settings(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("ab"))) as running:
        before = running.child("a").incarnation
        await running.reconfigure(children=[rig.child("a", shutdown=60), rig.child("c")])

        assert states(running) == {"a": "up", "c": "undefined", "b": "up"}
        spec = running.spec("a")
        assert isinstance(spec, Child) and spec.shutdown == 60
        assert running.child("a").incarnation == before
        assert rig.log == ["+a", "+b"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"strategy": "all_for_one"}, BadCall),
        ({"auto_shutdown": "sometimes"}, BadCall),
        ({"restart": 3}, BadCall),
        ({"restart": Restart(on_give_up="pause")}, BadCombination),
        ({"children": [1]}, BadCall),
        ({"children": 7}, BadCall),
        ({"children": [Child(asyncio.sleep), Child(asyncio.sleep)]}, DuplicateChild),
        ({"children": [Pool("agents")]}, BadCombination),
        (
            {"children": [Child(asyncio.sleep, restart="transient", significant=True)]},
            BadCombination,
        ),
        ({"max_children": 3}, BadCombination),
        ({"extra_args": (1,)}, BadCombination),
    ],
)
@timeless
async def test_a_bad_reconfiguration_changes_nothing(
    rig: Rig, changes: dict[str, Any], error: type[Exception]
) -> None:
    tree = Supervisor("root", strategy="rest_for_one", children=rig.children("abc"))
    async with rig.run(tree) as running:
        bad: dict[str, Any] = {"strategy": "one_for_all", "restart": Restart(0)} | changes
        with pytest.raises(error):
            await running.reconfigure(**bad)

        rig.took()
        await rig.crash("b")
        assert rig.took() == ["-c", "+b", "+c"]


@timeless
async def test_a_strategy_and_a_limit_change_while_running(rig: Rig) -> None:
    async with rig.run(Supervisor("root", restart=Restart(0), children=rig.children("ab"))) as run:
        await run.reconfigure(strategy="one_for_all", restart=Restart(5))
        rig.took()
        await rig.crash("a")

        assert rig.took() == ["-b", "+a", "+b"]


@timeless
async def test_a_reconfiguration_that_puts_the_limit_out_of_reach_warns(rig: Rig) -> None:
    async with rig.run(Supervisor("root")) as running:
        await running.reconfigure(restart=Restart(3, backoff=lambda n: 60.0))

    assert "limit_out_of_reach" in rig.kinds()


@timeless
async def test_a_pool_cannot_be_started_without_a_store(rig: Rig) -> None:
    async with rig.run(Supervisor("root")) as running:
        with pytest.raises(BadCombination, match="Runtime"):
            await running.start_child(Pool("agents"))
        with pytest.raises(BadCall, match="no specification of a child"):
            await running.start_child(asyncio.sleep)  # type: ignore[arg-type]


@timeless
async def test_a_pending_call_fails_at_once_when_its_supervisor_gives_up(rig: Rig) -> None:
    slow = rig.child("b")
    rig.habits["b"].always = "hang"
    calls: list[asyncio.Future[Any]] = []
    with pytest.raises(RestartLimitExceeded):
        async with rig.run(
            Supervisor("root", restart=Restart(0), children=rig.children("a"))
        ) as running:
            rig.orders["a"].set_result("crash")
            await asyncio.sleep(0)
            calls.append(asyncio.ensure_future(running.start_child(slow)))
            await rig.clock.sleep(10)
    with pytest.raises(NoProc):
        await calls[0]
    assert rig.clock.monotonic() < 1
