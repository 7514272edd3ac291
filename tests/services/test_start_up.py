"""How a supervisor starts its children, and what becomes of a start that fails."""

import asyncio

import pytest
from anyio.abc import TaskStatus

from everstep import (
    Child,
    EndedBeforeStarted,
    FailedToStartChild,
    Ignore,
    Restart,
    StartTimeout,
    Supervisor,
    supervise,
)

from .kit import Boom, Habit, Rig, states, timeless


@timeless
async def test_a_supervisor_without_children_starts_and_stops(rig: Rig) -> None:
    async with rig.run(Supervisor("root")) as running:
        assert running.count() == (0, 0, 0, 0)
        assert running.children() == []

    assert rig.kinds() == ["supervisor_started", "supervisor_ended"]
    assert rig.events[-1].reason == "shutdown"


@timeless
async def test_children_start_from_left_to_right_each_before_the_next_begins(rig: Rig) -> None:
    slow = [rig.child(name, Habit(always="hang", hang=2)) for name in "abcde"]
    began = rig.clock.monotonic()

    async with rig.run(Supervisor("root", children=slow)) as running:
        assert rig.took() == ["+a", "+b", "+c", "+d", "+e"]
        assert rig.clock.monotonic() - began == 10
        assert set(states(running).values()) == {"up"}


@timeless
async def test_a_child_that_fails_to_start_stops_those_before_it_in_reverse(rig: Rig) -> None:
    children = rig.children("abcd")
    rig.habits["c"].always = "fail"

    with pytest.raises(FailedToStartChild) as caught:
        async with rig.run(Supervisor("root", children=children)):
            raise AssertionError("the body does not run")

    assert rig.log == ["+a", "+b", "!c", "-b", "-a"]
    assert (caught.value.supervisor, caught.value.child) == ("root", "c")
    assert isinstance(caught.value.__cause__, Boom)
    assert rig.kinds(unexpected=True) == ["start_error c"]


@pytest.mark.parametrize(
    ("begins", "cause"), [("return", EndedBeforeStarted), ("hang", StartTimeout), ("fail", Boom)]
)
def test_a_start_fails_by_returning_by_hanging_and_by_raising(
    begins: str, cause: type[Exception]
) -> None:
    async def child(*, task_status: TaskStatus[None]) -> None:
        if begins == "hang":
            await asyncio.Event().wait()
        if begins == "fail":
            raise Boom

    @timeless
    async def scenario(rig: Rig) -> None:
        with pytest.raises(FailedToStartChild) as caught:
            async with rig.run(Supervisor("root", children=[Child(child, start_timeout=3)])):
                pass

        assert isinstance(caught.value.__cause__, cause)
        assert rig.clock.monotonic() == (3 if begins == "hang" else 0)

    scenario()


@timeless
async def test_a_child_whose_call_raises_has_failed_to_start(rig: Rig) -> None:
    async def takes_one(argument: int) -> None:
        await rig.clock.sleep(argument)

    tree = Supervisor("root", children=[*rig.children("a"), Child(takes_one)])

    with pytest.raises(FailedToStartChild, match="argument"):
        async with rig.run(tree):
            pass
    assert rig.log == ["+a", "-a"]


@pytest.mark.parametrize("by_call", [False, True])
@timeless
async def test_a_child_that_ignores_its_start_stays_known_and_the_next_starts(
    rig: Rig, by_call: bool
) -> None:
    children = [rig.child("a", Habit(always="ignore")), rig.child("b")]

    async with rig.run(Supervisor("root", children=[] if by_call else children)) as running:
        for child in children if by_call else []:
            await running.start_child(child)

        assert states(running) == {"a": "undefined", "b": "up"}
        assert running.count() == (2, 1, 0, 2)


@timeless
async def test_a_temporary_child_that_ignores_its_start_is_not_kept(rig: Rig) -> None:
    ignoring = Habit(always="ignore")
    tree = Supervisor("root", children=[rig.child("a", ignoring, restart="temporary")])

    async with rig.run(tree) as running:
        assert states(running) == {}

        info = await running.start_child(rig.child("t", ignoring, restart="temporary"))

        assert (info.status, info.value) == ("undefined", None)
        assert states(running) == {}


@timeless
async def test_ignoring_later_takes_a_child_down_quietly_whatever_its_type(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("ab"))) as running:
        await rig.order("ignore a")

        assert states(running) == {"a": "undefined", "b": "up"}
    assert rig.kinds(unexpected=True) == []


@timeless
async def test_what_a_child_says_when_it_is_started_is_handed_on_and_renewed(rig: Rig) -> None:
    serial = iter(range(100))

    async def child(*, task_status: TaskStatus[int]) -> None:
        task_status.started(next(serial))
        await asyncio.Event().wait()

    async with rig.run(Supervisor("root")) as running:
        assert (await running.start_child(Child(child, id="a"))).value == 0
        await running.terminate_child("a")
        assert running.child("a").value is None
        assert (await running.restart_child("a")).value == 1


@timeless
async def test_an_automatic_restart_takes_the_new_value(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("a"))) as running:
        await rig.crash("a")

        assert running.child("a").value == "a is ready"
        assert running.child("a").incarnation == 2


async def test_what_is_not_said_has_the_defaults_of_elixir() -> None:
    child = Child(asyncio.sleep)
    tree = Supervisor("root")

    assert (child.id, child.restart, child.shutdown, child.significant) == (
        "sleep", "permanent", 5, False,
    )  # fmt: skip
    assert (tree.strategy, tree.auto_shutdown, tree.shutdown) == ("one_for_one", "never", None)
    assert (tree.restart.max_restarts, tree.restart.within) == (3, 5)


@timeless
async def test_a_start_that_hangs_blocks_no_queries_and_no_stop(rig: Rig) -> None:
    hanging = rig.child("b", Habit(always="hang"), start_timeout=None)
    async with rig.run(Supervisor("root", children=rig.children("a"))) as running:
        call = asyncio.ensure_future(running.start_child(hanging))
        await rig.settle()

        assert states(running) == {"a": "up", "b": "starting"}
        assert running.count().active == 1
        await running.stop()

        with pytest.raises(Exception, match="does not run any more"):
            await call
    assert rig.log == ["+a", "!b", "-a"]


@timeless
async def test_another_call_waits_until_a_start_is_over(rig: Rig) -> None:
    slow = rig.child("b", Habit(always="hang", hang=4))
    async with rig.run(Supervisor("root", children=rig.children("a"))) as running:
        starting = asyncio.ensure_future(running.start_child(slow))
        await rig.settle()
        await running.terminate_child("a")

        assert rig.log == ["+a", "+b", "-a"]
        assert (await starting).status == "up"


@timeless
async def test_a_caller_that_gives_up_during_a_start_leaves_the_child_fully_in(rig: Rig) -> None:
    slow = rig.child("b", Habit(always="hang", hang=4))
    async with rig.run(Supervisor("root")) as running:
        call = asyncio.ensure_future(running.start_child(slow))
        await rig.clock.sleep(1)
        call.cancel()
        await rig.clock.sleep(5)

        assert states(running) == {"b": "up"}


@timeless
async def test_a_host_cancelled_while_the_tree_starts_waits_until_it_is_down(rig: Rig) -> None:
    children = [*rig.children("a"), rig.child("b", Habit(always="hang"))]

    async def host() -> None:
        async with rig.run(Supervisor("root", children=children)):
            raise AssertionError("the body does not run")

    task = asyncio.ensure_future(host())
    await rig.settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert rig.log == ["+a", "!b", "-a"]


@timeless
async def test_started_may_be_said_once(rig: Rig) -> None:
    async def child(*, task_status: TaskStatus[None]) -> None:
        task_status.started()
        task_status.started()

    tree = Supervisor("root", restart=Restart(0), children=[Child(child)])

    with pytest.raises(Exception, match=r"started\(\) twice"):
        async with rig.run(tree):
            await rig.settle()


async def test_a_tree_is_entered_once() -> None:
    tree = supervise(Supervisor("root"))
    async with tree:
        pass

    with pytest.raises(RuntimeError, match="entered before"):
        async with tree:
            pass


@timeless
async def test_a_plain_child_may_raise_ignore_in_its_first_step(rig: Rig) -> None:
    async def not_here() -> None:
        raise Ignore

    async with rig.run(Supervisor("root", children=[Child(not_here, id="a")])) as running:
        await rig.settle()

        assert states(running) == {"a": "undefined"}
