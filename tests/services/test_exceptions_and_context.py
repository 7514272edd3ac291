"""Exceptions of every kind, contexts, tasks, generators and threads of children."""

import asyncio
import contextvars
import gc
import sys
import threading
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import anyio.to_thread
import pytest

from everstep import (
    Child,
    Restart,
    RestartLimitExceeded,
    Shutdown,
    Supervisor,
    supervise,
)

from .kit import Boom, Habit, Rig, timeless


class Weird(BaseException):
    """Caught by no `except Exception`."""


# --- exceptions of every kind ---------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        Weird(),
        GeneratorExit(),
        StopIteration(),
        BaseExceptionGroup("two", [Weird(), Boom()]),
        ExceptionGroup("one", [Boom()]),
    ],
    ids=lambda error: type(error).__name__,
)
@timeless
async def test_every_other_exception_is_a_crash(rig: Rig, error: BaseException) -> None:
    async def child() -> None:
        await asyncio.sleep(0)
        raise error

    tree = Supervisor(
        "root", restart=Restart(0), children=[rig.child("a"), Child(child, restart="transient")]
    )
    with pytest.raises(RestartLimitExceeded):
        async with rig.run(tree):
            await rig.settle()
    assert rig.log == ["+a", "-a"]


@pytest.mark.parametrize("order", ["interrupt", "exit"])
@pytest.mark.parametrize("grouped", [False, True])
@timeless
async def test_an_interrupt_stops_the_tree_in_reverse_and_is_raised(
    rig: Rig, order: str, grouped: bool
) -> None:
    error: BaseException = KeyboardInterrupt() if order == "interrupt" else SystemExit(3)
    kind = type(error)
    if grouped:
        error = BaseExceptionGroup("group", [Boom(), BaseExceptionGroup("inner", [error])])

    leave = asyncio.Event()

    async def leaving() -> None:
        await leave.wait()
        raise error

    inner = Supervisor("inner", children=[rig.child("b"), Child(leaving), rig.child("c")])
    tree = Supervisor("root", children=[rig.child("a"), inner, rig.child("d")])
    with pytest.raises(kind):
        async with rig.run(tree):
            leave.set()
            await asyncio.Event().wait()

    assert rig.log[-4:] == ["-d", "-c", "-b", "-a"]
    assert "restart_scheduled inner" not in rig.kinds()


@timeless
async def test_an_interrupt_at_the_start_is_raised_from_entering(rig: Rig) -> None:
    children = [rig.child("a"), rig.child("b", Habit(always="interrupt")), rig.child("c")]
    with pytest.raises(KeyboardInterrupt):
        async with rig.run(Supervisor("root", children=children)):
            raise AssertionError("the body does not run")

    assert rig.log == ["+a", "!b", "-a"]


@timeless
async def test_an_interrupt_while_the_tree_stops_cuts_off_what_is_left(rig: Rig) -> None:
    last = Supervisor("inner", children=[rig.child("c", Habit(answer="interrupt"))])
    children: list[Any] = [*rig.children("ab"), last]
    with pytest.raises(KeyboardInterrupt):
        async with rig.run(Supervisor("root", children=children)):
            rig.took()

    assert rig.log == ["-c"]


@timeless
async def test_an_exit_of_the_process_asked_for_by_a_cleanup_waits_for_the_others(rig: Rig) -> None:
    children = [*rig.children("ab"), rig.child("c", Habit(answer="exit"))]
    with pytest.raises(SystemExit):
        async with rig.run(Supervisor("root", children=children)):
            rig.took()

    assert rig.log == ["-c", "-b", "-a"]


@pytest.mark.parametrize("kind", ["normal", "shutdown", "crash"])
@timeless
async def test_a_group_of_one_is_what_is_in_it(rig: Rig, kind: str) -> None:
    async def child() -> None:
        await asyncio.sleep(0)
        if kind == "shutdown":
            raise ExceptionGroup("one", [ExceptionGroup("one", [Shutdown("x")])])
        if kind == "crash":
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())

    async def fail() -> None:
        raise Boom

    tree = Supervisor("root", children=[Child(child, id="a", restart="temporary")])
    async with rig.run(tree):
        await rig.settle()

    exits = [event for event in rig.events if event.kind == "child_exited"]
    if kind == "crash":
        assert isinstance(exits[0].error, Boom)
    else:
        assert (exits[0].reason, exits[0].expected) == (
            "shutdown: 'x'" if kind == "shutdown" else "normal", True,
        )  # fmt: skip


# --- context, tasks, threads ----------------------------------------------------------------

REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")


@timeless
async def test_a_child_sees_no_context_of_who_started_it_before_and_after_a_restart(
    rig: Rig,
) -> None:
    seen: list[str] = []

    async def child() -> None:
        seen.append(REQUEST.get())
        REQUEST.set("left over")
        await rig.clock.sleep(1)
        raise Boom

    async with rig.run(Supervisor("root")) as running:
        REQUEST.set("request 1")
        await running.start_child(Child(child, restart="transient"))
        await rig.clock.sleep(1.5)
        await running.stop()

    assert seen == ["none", "none"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="contexts of tasks can be read from 3.12 on")
@timeless
async def test_tasks_that_a_child_left_running_end_with_it(rig: Rig) -> None:
    tasks: list[asyncio.Task[None]] = []

    async def background() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            rig.log.append("background ended")

    async def child() -> None:
        tasks.append(asyncio.create_task(background()))
        await rig.clock.sleep(1)

    async with rig.run(Supervisor("root")) as running:
        await running.start_child(Child(child, restart="temporary"))
        await rig.clock.sleep(2)

        assert rig.log == ["background ended"]
    assert "leftover_ended child" in rig.kinds()


@timeless
async def test_tasks_of_a_child_that_was_cut_off_go_on(rig: Rig) -> None:
    tasks: list[asyncio.Task[None]] = []

    async def background() -> None:
        await rig.clock.sleep(5)
        rig.log.append("background went on")

    async def child() -> None:
        tasks.append(asyncio.create_task(background()))
        await asyncio.Event().wait()

    async with rig.run(Supervisor("root", children=[Child(child, shutdown="brutal")])):
        await rig.settle()
    await rig.clock.sleep(10)

    assert rig.log == ["background went on"]


async def numbers(rig: Rig) -> AsyncGenerator[int, None]:
    try:
        while True:
            yield 1
            await asyncio.Event().wait()
    finally:
        rig.log.append("generator closed")


@timeless
async def test_an_async_generator_of_a_child_is_closed_with_it(rig: Rig) -> None:
    async def child() -> None:
        async for _ in numbers(rig):
            pass

    async with rig.run(Supervisor("root", children=[Child(child)])):
        await rig.settle()

    assert rig.log == ["generator closed"]


@timeless
async def test_a_generator_that_a_child_has_left_is_closed_by_the_loop(rig: Rig) -> None:
    async def child() -> None:
        generator = numbers(rig)
        await anext(generator)

    tree = Supervisor("root", children=[Child(child, restart="temporary")])
    async with rig.run(tree):
        await rig.settle()
        gc.collect()
        await rig.settle()

        assert rig.log == ["generator closed"]


@timeless
async def test_a_generator_of_a_child_that_was_cut_off_is_closed_when_the_loop_ends(
    rig: Rig,
) -> None:
    async def child() -> None:
        async for _ in numbers(rig):
            await asyncio.Event().wait()

    async with rig.run(Supervisor("root", children=[Child(child, shutdown="brutal")])):
        await rig.settle()

    gc.collect()
    await rig.settle()
    assert rig.log == []
    await asyncio.get_running_loop().shutdown_asyncgens()
    assert rig.log == ["generator closed"]


@pytest.mark.real
async def test_a_child_in_a_thread_is_left_behind_after_its_time() -> None:
    release = threading.Event()

    async def child() -> None:
        await anyio.to_thread.run_sync(release.wait)

    began = asyncio.get_running_loop().time()
    async with supervise(Supervisor("root", children=[Child(child, shutdown=0.1)])):
        await asyncio.sleep(0.05)

    assert asyncio.get_running_loop().time() - began < 5
    release.set()
    await asyncio.sleep(0.05)


async def test_nobody_collects_a_waiting_child(recwarn: pytest.WarningsRecorder) -> None:
    async def child() -> None:
        await asyncio.get_running_loop().create_future()

    async with supervise(Supervisor("root", children=[Child(child, id="a")])) as running:
        await asyncio.sleep(0)
        gc.collect()
        await asyncio.sleep(0)

        assert running.count().active == 1


@timeless
async def test_a_crash_in_one_for_one_touches_neither_siblings_nor_the_host(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("abc"))) as running:
        await rig.crash("b")

        assert [info.incarnation for info in running.children()] == [3, 4, 1]
        assert rig.log == ["+a", "+b", "+c", "+b"]


@timeless
async def test_a_bug_of_the_supervisor_stops_its_children_and_its_parent_reacts(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(n: int) -> float:
        return 0.0 if n == 1 else next(iter(()))

    restart = Restart(1, backoff=broken)
    inner = Supervisor("inner", restart=restart, children=rig.children("ab"))
    async with rig.run(Supervisor("root", children=[inner])) as running:
        await rig.crash("b")
        rig.took()
        rig.clock.advance(10)
        await rig.crash("b")

        assert rig.took() == ["-a", "+a", "+b"]
        assert "SupervisorFailed" in running.child("inner").last_error
    assert "failed and stops its children" in caplog.text
