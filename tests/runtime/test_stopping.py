"""Leaving a runtime: in order, bounded, whatever the tasks and the caller do."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any, ClassVar

import pytest

from everstep import Actor, Pool, Restart, Runtime, Status, Supervisor, step
from tests.runtime.kit import ONCE, Gate, Place, Plain, Unsteady, Waiting, kinds, next_event


class Stubborn(Actor, name="stopping.Stubborn"):
    """Swallows its cancellation, or answers it slowly, as the class is told."""

    gate: ClassVar[Gate] = Gate()
    swallow: ClassVar[bool] = True
    cleaned: ClassVar[list[str]] = []
    place: str = "resist"

    @step(retry=ONCE)
    async def resist(self) -> None:
        while True:
            try:
                await self.gate.stop_at(self.place)
            except asyncio.CancelledError:
                Stubborn.cleaned.append("asked")
                if not Stubborn.swallow:
                    raise

    async def run(self) -> None:
        await self.resist()


class Clinging(Actor, name="stopping.Clinging"):
    """Awaits a child of its own that swallows its end until it is let go."""

    gate: ClassVar[Gate] = Gate()
    children: ClassVar[list[asyncio.Future[Any]]] = []

    @step(retry=ONCE)
    async def cling(self) -> None:
        child = asyncio.ensure_future(self._child())
        self.children.append(child)
        await asyncio.gather(child)

    async def run(self) -> None:
        await self.cling()

    @classmethod
    async def _child(cls) -> None:
        while True:
            try:
                return await cls.gate.stop_at("cling")
            except asyncio.CancelledError:
                continue


class Leaving(Actor, name="stopping.Leaving"):
    """Ends the process from within a step."""

    error: ClassVar[BaseException] = SystemExit(3)

    @step(retry=ONCE)
    async def leave(self) -> None:
        raise self.error

    async def run(self) -> None:
        await self.leave()


class LeavingBeside(Leaving, name="stopping.LeavingBeside"):
    """The same from within an asyncio task of its own, which is waited for as it says."""

    way: str = "gather"

    async def leave_for_others(self) -> None:
        try:
            await self.leave()
        except SystemExit:
            raise SystemExit(4) from None

    async def run(self) -> None:
        match self.way:
            case "at once":
                await asyncio.create_task(self.leave())
            case "through others":
                await asyncio.create_task(self.leave_for_others())
            case "gather":
                await asyncio.gather(self.leave(), asyncio.sleep(3600))
            case "task group":
                async with asyncio.TaskGroup() as group:
                    group.create_task(self.leave())
                    group.create_task(asyncio.sleep(3600))
            case _:
                leaving = asyncio.create_task(self.leave())
                await asyncio.Event().wait()
                await leaving


@pytest.fixture(autouse=True)
def _fresh() -> None:
    Stubborn.gate, Stubborn.swallow, Stubborn.cleaned = Gate(), True, []


async def running(runtime: Runtime, gate: Gate, actor: Actor, name: str, place: str) -> Any:
    task = await runtime.start(actor, id=name)
    await gate.until(place)
    return task


async def test_a_step_that_ends_within_the_grace_keeps_its_checkpoint(
    place: Place, gate: Gate
) -> None:
    async with place.runtime(grace=10) as runtime:
        await running(runtime, gate, Waiting(name="a"), "a", "a")
        asyncio.get_running_loop().call_soon(gate.open, "a")

    async with place.runtime() as runtime:
        task = runtime.task("a", Waiting)
        assert await task.result() == "a"
        log = await kinds(task)

    assert gate.order == ["a"]
    assert log.count("task_released") == 1


async def test_a_step_that_takes_longer_is_cut_given_back_and_not_charged(
    place: Place, gate: Gate
) -> None:
    async with place.runtime(grace=10) as runtime:
        await running(runtime, gate, Waiting(name="a"), "a", "a")
        advance = asyncio.create_task(_advance_when_waited(place, 10))

    await advance
    async with place.runtime() as runtime:
        task = runtime.task("a", Waiting)
        await next_event(task, "task_claimed", after=4)
        gate.open("a")
        assert await task.result() == "a"
        info = await task.status()
        steps = await task.steps()

    assert (info.crashes, info.deaths, info.incarnation) == (0, 0, 2)
    assert (steps[0].attempts, steps[0].executions) == (1, 2)


async def _advance_when_waited(place: Place, *spans: float) -> None:
    for seconds in spans:
        await place.clock.until_waiting(within=seconds)
        place.clock.advance(seconds)


async def turns(number: int) -> None:
    """Let the loop turn so often, for what needs no more than that."""
    for _ in range(number):
        await asyncio.sleep(0)


async def test_an_exception_of_the_body_stops_in_order_and_is_raised(
    place: Place, gate: Gate
) -> None:
    async def body() -> None:
        async with place.runtime(grace=0) as runtime:
            await running(runtime, gate, Waiting(name="a"), "a", "a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await body()
    await _was_given_back(place, "a")


async def _was_given_back(place: Place, task_id: str) -> None:
    async with place.runtime(actors=[Plain]) as runtime:
        task = runtime.task(task_id)
        info = await task.status()
        assert info.status is Status.QUEUED
        assert info.deaths == 0
        assert "task_released" in await kinds(task)


async def test_cancelling_the_body_stops_in_order(place: Place, gate: Gate) -> None:
    async def body() -> None:
        async with place.runtime(grace=0) as runtime:
            await running(runtime, gate, Waiting(name="a"), "a", "a")
            await asyncio.get_running_loop().create_future()

    served = asyncio.create_task(body())
    await gate.until("a")
    served.cancel()
    await asyncio.wait([served])

    assert served.cancelled()
    await _was_given_back(place, "a")


async def test_a_cancellation_while_leaving_is_raised_after_all_is_done(
    place: Place, gate: Gate
) -> None:
    async def body() -> None:
        async with place.runtime(grace=10) as runtime:
            await running(runtime, gate, Waiting(name="a"), "a", "a")

    served = asyncio.create_task(body())
    await gate.until("a")
    await turns(5)
    served.cancel()
    await turns(5)
    assert not served.done()
    gate.open("a")
    await asyncio.wait([served])

    assert served.cancelled()
    await _was_given_back(place, "a")


async def test_the_second_request_to_end_gives_no_more_grace(place: Place, gate: Gate) -> None:
    async def body() -> None:
        async with place.runtime(grace=1000) as runtime:
            await running(runtime, gate, Waiting(name="a"), "a", "a")

    served = asyncio.create_task(body())
    await gate.until("a")
    for _ in range(2):
        await turns(5)
        assert not served.done()
        served.cancel()
    await asyncio.wait([served])

    assert served.cancelled()
    await _was_given_back(place, "a")


async def test_a_step_that_swallows_its_end_is_severed_and_named(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with place.runtime(grace=0) as runtime:
        await running(runtime, Stubborn.gate, Stubborn(), "s", "resist")
        advance = asyncio.create_task(_advance_when_waited(place, 5, 0.1))

    await advance
    assert Stubborn.cleaned == ["asked"]
    assert "late when the pool tasks stopped: s resist" in caplog.text
    await _was_given_back(place, "s")


async def test_a_task_that_never_ends_is_given_back_on_its_behalf(place: Place) -> None:
    Clinging.gate, Clinging.children = Gate(), []
    async with place.runtime(grace=0) as runtime:
        await running(runtime, Clinging.gate, Clinging(), "c", "cling")
        advance = asyncio.create_task(_advance_when_waited(place, 5, 0.1, 0.1))

    advance.cancel()
    assert not Clinging.children[0].done()
    await _was_given_back(place, "c")

    Clinging.gate.open("cling")
    await asyncio.wait(Clinging.children)


async def test_a_thousand_tasks_are_released_side_by_side(place: Place, gate: Gate) -> None:
    async with place.runtime(grace=10) as runtime:
        for number in range(200):
            await runtime.start(Waiting(name=f"n{number}"))
        await asyncio.gather(*(gate.until(f"n{number}") for number in range(200)))
        begun = place.clock.monotonic()
        advance = asyncio.create_task(_advance_when_waited(place, 10))

    await advance
    assert place.clock.monotonic() - begun == 10
    async with place.runtime(actors=[Plain]) as runtime:
        assert len(await runtime.tasks(status=Status.QUEUED, limit=1000)) == 200


async def test_of_many_that_are_late_the_log_names_twenty_and_counts_the_others(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with place.runtime(grace=0) as runtime:
        for name in (f"s{number}" for number in range(25)):
            await running(runtime, Stubborn.gate, Stubborn(place=name), name, name)
        advance = asyncio.create_task(_advance_when_waited(place, 5, 0.1))

    await advance
    late = [line for line in caplog.messages if line.startswith("late when the pool tasks")]
    assert late[0] == "late when the pool tasks stopped: s0 resist"
    assert late[20:] == ["late when the pool tasks stopped: 5 more"]


async def test_leaving_at_once_after_a_start_loses_nothing(place: Place) -> None:
    async with place.runtime(grace=0) as runtime:
        for number in range(20):
            await runtime.start(Plain(), id=str(number))

    async with place.runtime() as runtime:
        for number in range(20):
            assert await runtime.task(str(number)).result() == "refunds: 2"
            assert (await runtime.task(str(number)).status()).deaths == 0


async def test_a_runtime_can_be_entered_again(place: Place) -> None:
    runtime = place.runtime()
    async with runtime:
        await (await runtime.start(Plain(), id="a")).result()
    async with runtime:
        assert await runtime.task("a").result() == "refunds: 2"


def test_a_task_that_exits_the_process_stops_it_in_order_and_counts_as_a_crash(
    tmp_path: Any,
) -> None:
    Leaving.error = SystemExit(3)
    path = tmp_path / "tasks.db"

    async def serve() -> None:
        async with Runtime(path, grace=0) as runtime:
            await (await runtime.start(Leaving(), id="x")).result()

    with pytest.raises(SystemExit):
        asyncio.run(serve())

    info = asyncio.run(_status(path, "x"))
    assert (info.status, info.crashes, info.deaths) == (Status.QUEUED, 1, 0)


@pytest.mark.parametrize("way", ["at once", "through others", "gather", "task group", "not at all"])
@pytest.mark.parametrize(("error", "crashes"), [(SystemExit(3), 1), (KeyboardInterrupt(), 0)])
def test_a_step_that_ends_the_process_charges_its_task_alone_and_only_for_an_exit(
    tmp_path: Path, gate: Gate, way: str, error: BaseException, crashes: int
) -> None:
    """From an asyncio task of its own too, in which the loop hears of it before `run` does."""
    Leaving.error = error
    path = tmp_path / "tasks.db"

    async def serve() -> None:
        async with Runtime(path, grace=0) as runtime:
            await runtime.start(Waiting(name="n"), id="n")
            await gate.until("n")
            await (await runtime.start(LeavingBeside(way=way), id="x")).result()

    with pytest.raises(type(error)):
        asyncio.run(serve())

    info, beside = asyncio.run(_status(path, "x")), asyncio.run(_status(path, "n"))
    assert (info.status, info.crashes, info.deaths) == (Status.QUEUED, crashes, 0)
    assert (beside.status, beside.crashes, beside.deaths) == (Status.QUEUED, 0, 0)


class Catching(LeavingBeside, name="stopping.Catching"):
    """Its code catches what would have ended the process, in the task of its own."""

    async def leave_or_not(self) -> None:
        for _ in range(2):
            with contextlib.suppress(SystemExit):
                await self.leave()

    async def run(self) -> None:
        await asyncio.gather(self.leave_or_not(), asyncio.sleep(0))


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_code_beside_the_runtime_that_ends_the_loop_is_a_crash_of_no_task(
    tmp_path: Path, gate: Gate, error: BaseException
) -> None:
    path, names = tmp_path / "tasks.db", ("a", "b", "c")

    async def leave() -> None:
        raise error

    async def serve() -> None:
        async with Runtime(path, grace=0) as runtime:
            for name in names:
                await runtime.start(Waiting(name=name), id=name)
                await gate.until(name)
            leaving = asyncio.create_task(leave())
            await asyncio.Event().wait()
            await leaving

    with pytest.raises(type(error)):
        asyncio.run(serve())

    found = [asyncio.run(_status(path, name)) for name in names]
    assert [(one.crashes, one.deaths) for one in found] == [(0, 0)] * 3


async def test_an_exit_that_is_caught_ends_nothing_and_charges_nobody(place: Place) -> None:
    Leaving.error = SystemExit(3)
    async with place.runtime() as runtime:
        task = await runtime.start(Catching())
        await task.result()
        assert (await task.status()).crashes == 0


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_a_backoff_of_a_pool_that_ends_the_process_is_heard(
    tmp_path: Path, error: BaseException
) -> None:
    def backoff(_: int) -> float:
        raise error

    async def serve() -> None:
        pool = Pool(restart=Restart(3, backoff=backoff))
        async with Runtime(tmp_path / "tasks.db", tree=pool, grace=0) as runtime:
            Unsteady.errors = [OSError("no paper")]
            await (await runtime.start(Unsteady())).result()

    with pytest.raises(type(error)):
        asyncio.run(serve())


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_a_task_that_exits_the_process_charges_nobody_in_other_pools(
    tmp_path: Any, gate: Gate, error: BaseException
) -> None:
    Leaving.error = error
    path = tmp_path / "tasks.db"
    tree = Supervisor("root", children=[Pool("one"), Pool("two")])

    async def serve() -> None:
        async with Runtime(path, tree=tree) as runtime:
            await runtime.start(Waiting(name="n"), id="n", pool="two")
            await gate.until("n")
            await (await runtime.start(Leaving(), id="x", pool="one")).result()

    with pytest.raises(type(error)):
        asyncio.run(serve())

    info = asyncio.run(_status(path, "n"))
    assert (info.status, info.crashes, info.deaths) == (Status.QUEUED, 0, 0)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_code_beside_the_runtime_that_ends_the_loop_is_the_death_of_no_task(
    place: Place, gate: Gate, error: BaseException
) -> None:
    """The end of the loop cancels the store's writer too: what is released then is not written."""

    async def leave() -> None:
        raise error

    async def serve() -> None:
        async with place.runtime() as runtime:
            await runtime.start(Waiting(name="a"), id="a")
            await gate.until("a")
            leaving = asyncio.create_task(leave())
            await asyncio.gather(leaving)

    async def go_on() -> Any:
        async with place.runtime() as runtime:
            gate.open("a")
            await runtime.task("a").result()
            return [await runtime.task("a").status(), await kinds(runtime.task("a"))]

    with pytest.raises(type(error)):
        asyncio.run(serve())
    info, told = asyncio.run(go_on())

    assert info.deaths == 0
    assert "task_died" not in told


async def _status(path: Any, task_id: str) -> Any:
    async with Runtime(path, actors=[Plain]) as runtime:
        return await runtime.task(task_id).status()


async def test_code_of_tasks_runs_in_no_context_of_who_started_them(place: Place) -> None:
    from contextvars import ContextVar

    request: ContextVar[str] = ContextVar("request", default="none")
    seen: list[str] = []

    class Looking(Actor):
        @step
        async def look(self) -> None:
            seen.append(request.get())

    request.set("request-1")
    async with place.runtime() as runtime:
        await (await runtime.start(Plain())).result()
        await (await runtime.start(Looking())).result()

    assert seen == ["none"]


async def test_no_asyncio_task_is_left(place: Place, gate: Gate) -> None:
    before = asyncio.all_tasks()
    async with place.runtime(grace=0) as runtime:
        await running(runtime, gate, Waiting(name="a"), "a", "a")
        await (await runtime.start(Plain())).result()

    assert asyncio.all_tasks() == before
