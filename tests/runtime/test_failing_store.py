"""When the store has failed, the runtime stops in order and says so everywhere."""

import asyncio
from typing import Any, ClassVar

import pytest

from everstep import (
    Actor,
    Pool,
    Restart,
    Retry,
    Runtime,
    RuntimeClosed,
    Status,
    StoreFailed,
    Supervisor,
    none,
    step,
)
from everstep.actors.verdicts import Ended
from everstep.storage import MemoryStore
from everstep.testing import ManualClock
from tests.runtime.kit import ONCE, Gate, Place, Plain, Waiting, until


async def test_the_body_is_cancelled_and_the_failure_is_raised(place: Place, gate: Gate) -> None:
    seen: list[str] = []

    async def body() -> None:
        async with place.runtime() as runtime:
            await runtime.start(Waiting(name="a"))
            await gate.until("a")
            place.fail()
            gate.open("a")
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

    with pytest.raises(StoreFailed, match="the disk is gone"):
        await body()

    assert seen == ["cancelled"]
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def test_who_waits_for_a_result_is_told(place: Place, gate: Gate) -> None:
    async def body() -> None:
        async with place.runtime() as runtime:
            task = await runtime.start(Waiting(name="a"))
            waiter = asyncio.create_task(task.result())
            waiters.append(waiter)
            await gate.until("a")
            place.fail()
            gate.open("a")
            await asyncio.wait([waiter])

    waiters: list[asyncio.Task[str]] = []
    with pytest.raises(StoreFailed):
        await body()

    with pytest.raises(RuntimeClosed, match="the disk is gone"):
        await waiters[0]


async def test_a_start_that_the_store_does_not_take_raises_its_failure(place: Place) -> None:
    async with place.runtime() as runtime:
        await (await runtime.start(Plain())).result()
        place.fail()

        with pytest.raises(StoreFailed):
            await runtime.start(Plain())


async def test_an_error_of_the_body_is_not_hidden_by_the_failure(place: Place, gate: Gate) -> None:
    async def body() -> None:
        async with place.runtime() as runtime:
            await runtime.start(Waiting(name="a"))
            await gate.until("a")
            place.fail()
            gate.open("a")
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                raise KeyError("mine") from None

    with pytest.raises(KeyError, match="mine"):
        await body()


async def test_a_failure_while_the_runtime_is_left_is_raised_in_the_end(
    place: Place, gate: Gate
) -> None:
    async def body() -> None:
        async with place.runtime(tree=Supervisor("root", children=[Pool("agents")])) as runtime:
            await runtime.start(Waiting(name="a"))
            await gate.until("a")
            place.fail()

    with pytest.raises(StoreFailed, match="the disk is gone"):
        await body()


class Reading(MemoryStore):
    """Cannot be read while it is told so, for longer than its patience."""

    broken = False
    unseen = ""

    def __init__(self, *, clock: ManualClock) -> None:
        super().__init__(clock=clock)
        self.looked, self.held = asyncio.Event(), asyncio.Event()
        self.held.set()

    async def messages(self, *args: Any, **kwargs: Any) -> Any:
        self._look()
        return await super().messages(*args, **kwargs)

    async def recipient(self, task_id: str) -> Any:
        self._look()
        return await super().recipient(task_id)

    async def task(self, task_id: str) -> Any:
        if task_id == self.unseen:
            self.looked.set()
            await self.held.wait()
            self._look()
        return await super().task(task_id)

    def _look(self) -> None:
        if self.broken:
            raise StoreFailed(self.path, "it cannot be read")


class Corresponding(Actor, name="failing_store.Corresponding"):
    """Comes to a store that cannot be read, in `run` or in a step; goes on, if it can."""

    in_run: bool
    goes_on: bool

    @step(retry=ONCE)
    async def write(self) -> None:
        await self.ctx.send("other", "hello")

    @step
    async def do_without(self) -> None: ...

    async def run(self) -> None:
        try:
            await (self.ctx.receive(str) if self.in_run else self.write())
        except Exception:
            if not self.goes_on:
                raise
        await self.do_without()


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("in_run", [True, False])
async def test_a_store_that_cannot_be_read_is_no_fault_of_the_task(
    in_run: bool, goes_on: bool
) -> None:
    """Nor does its code go another way, of which a replay would know nothing."""
    clock = ManualClock()
    store = Reading(clock=clock)

    async def body() -> None:
        pool = Pool(restart=Restart(0))
        async with Runtime(":memory:", store=store, clock=clock, tree=pool, grace=0) as runtime:
            store.broken = True
            await runtime.start(Corresponding(in_run=in_run, goes_on=goes_on), id="a")
            await asyncio.get_running_loop().create_future()

    with pytest.raises(StoreFailed, match="cannot be read"):
        await body()

    store.broken = False
    async with Runtime(":memory:", store=store, clock=clock, tree=Pool("none")) as runtime:
        task = runtime.task("a")
        info = await task.status()
        assert (info.status, info.crashes, info.deaths) == (Status.QUEUED, 0, 0)
        assert [one.attempts for one in await task.steps()] == [0]
    store.discard()


async def test_an_error_of_the_user_beside_a_failed_read_is_one_of_the_step(gate: Gate) -> None:
    class Own(Actor, name="failing_store.Own"):
        tries: ClassVar[int] = 0

        @step(retry=Retry(3, backoff=none()))
        async def work(self) -> int:
            Own.tries += 1
            try:
                store.broken = Own.tries == 1
                await self.ctx.send("other", "hello")
            except StoreFailed:
                raise ValueError("of its own")  # noqa: B904
            return Own.tries

        async def run(self) -> int:
            return await self.work()

    clock = ManualClock()
    store = Reading(clock=clock)
    async with Runtime(":memory:", store=store, clock=clock, grace=0) as runtime:
        await runtime.start(Waiting(name="other"), id="other")
        assert await (await runtime.start(Own())).result() == 2
    store.discard()


@pytest.mark.parametrize("how", ["plain", "gather", "finally"])
async def test_a_parent_that_rests_and_cannot_read_of_its_child_goes_on_with_a_well_store(
    gate: Gate, how: str
) -> None:
    class Parent(Actor, name="failing_store.Parent"):
        async def run(self) -> str:
            child = await self.ctx.start(Waiting(name="child"))
            store.unseen = child.id
            if how == "plain":
                return await child.result()
            if how == "gather":
                return (await asyncio.gather(child.result()))[0]
            try:
                return await child.result()
            finally:
                await asyncio.sleep(0)

    clock = ManualClock()
    store = Reading(clock=clock)

    async def body() -> None:
        async with Runtime(":memory:", store=store, clock=clock, grace=0) as runtime:
            task = await runtime.start(Parent(), id="p")
            await until(task, lambda info: info.status is Status.WAITING)
            await gate.until("child")
            store.broken = True
            gate.open("child")
            await asyncio.get_running_loop().create_future()

    with pytest.raises(StoreFailed, match="cannot be read"):
        await body()

    store.broken = False
    async with Runtime(":memory:", store=store, clock=clock, actors=[Parent, Waiting]) as runtime:
        task = runtime.task("p", Parent)
        assert await task.result() == "child"
        info = await task.status()
        assert (info.crashes, info.deaths) == (0, 0)
    store.discard()


async def test_a_wait_that_outlives_its_life_and_cannot_read_ends_as_that_has(gate: Gate) -> None:
    left: list[asyncio.Task[str]] = []

    class Leaving(Actor, name="failing_store.Leaving"):
        async def run(self) -> str:
            child = await self.ctx.start(Waiting(name="child"), on_parent="leave")
            left.append(asyncio.create_task(child.result()))
            await gate.until("child")
            store.unseen = child.id
            store.held.clear()
            gate.open("child")
            await store.looked.wait()
            return "left"

    clock = ManualClock()
    store = Reading(clock=clock)
    async with Runtime(":memory:", store=store, clock=clock, grace=0) as runtime:
        assert await (await runtime.start(Leaving())).result() == "left"
        store.broken = True
        store.held.set()
        await asyncio.wait(left)
        store.broken = False
    store.discard()
    assert isinstance(left[0].exception(), Ended)
