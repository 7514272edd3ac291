"""Exits of the process: in a step, in what a pool is given, in code beside the runtime."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any, ClassVar

import pytest

from everstep import Actor, Pool, Restart, Runtime, Status, Supervisor, step
from tests.runtime.kit import ONCE, Gate, Place, Plain, Unsteady, Waiting, kinds


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


@pytest.mark.parametrize("is_awaited", [True, False])
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_code_beside_the_runtime_that_ends_the_loop_charges_no_task(
    place: Place, gate: Gate, error: BaseException, is_awaited: bool
) -> None:
    """The end of the loop cancels the store's writer too: what is released then is not written."""
    names = ("a", "b", "c")

    async def leave() -> None:
        raise error

    async def serve() -> None:
        async with place.runtime() as runtime:
            for name in names:
                await runtime.start(Waiting(name=name), id=name)
                await gate.until(name)
            leaving = asyncio.create_task(leave())
            await (asyncio.gather(leaving) if is_awaited else asyncio.Event().wait())
            await leaving

    async def go_on() -> Any:
        gate.open(*names)  # of the loop that has ended: nobody may wait for them here
        async with place.runtime() as runtime:
            tasks = [runtime.task(name) for name in names]
            for task in tasks:
                await task.result()
            return [(await task.status(), await kinds(task)) for task in tasks]

    with pytest.raises(type(error)):
        asyncio.run(serve())
    for info, told in asyncio.run(go_on()):
        assert (info.crashes, info.deaths) == (0, 0)
        assert "task_died" not in told


async def _status(path: Any, task_id: str) -> Any:
    async with Runtime(path, actors=[Plain]) as runtime:
        return await runtime.task(task_id).status()
