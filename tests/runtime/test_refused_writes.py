"""A write of a task that the store will not take never leaves the task without an owner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import ClassVar

import pytest

from everstep import Actor, BadCall, Pool, Restart, Runtime, Status, TaskEnded, TaskFailed, step
from everstep.storage import Draft, MemoryStore, StaleAttempt
from everstep.testing import ManualClock
from tests.runtime.kit import ONCE, Gate, Place, Plain, Unsteady, Waiting, heard, kinds
from tests.servers.accounts import Account

ODD = "caf\udce9"
"""What `os.listdir` makes of a name that is no UTF-8: half a character."""


async def free(value: str = "") -> str:
    return f"free {len(value)}"


class Odd(Actor, name="refused_writes.Odd"):
    """Uses a text that cannot be stored at the place it is told."""

    place: str

    async def run(self) -> str:
        if self.place == "an event of run":
            self.ctx.emit(ODD)
        if self.place == "the key of a step":
            return await self.keyed(ODD)
        if self.place == "the name of a function":
            return await self.ctx.step(free, name=ODD)
        if self.place == "the key of a function":
            return await self.ctx.step(free, key=ODD)
        if self.place == "the argument of an effect":
            return await self.ctx.once("key", free, ODD)
        return await self.work()

    @step(retry=ONCE)
    async def work(self) -> str:
        if self.place == "an event":
            self.ctx.emit(ODD)
        return await self.ctx.once(ODD, free)

    @step(key="name")
    async def keyed(self, name: str) -> str:
        return name


@pytest.mark.parametrize(
    "where",
    [
        "an event",
        "an event of run",
        "the key of a step",
        "the name of a function",
        "the key of a function",
        "the key of an effect",
    ],
)
async def test_a_text_that_cannot_be_stored_fails_the_task_that_uses_it(
    place: Place, where: str
) -> None:
    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        task = await runtime.start(Odd(place=where))
        with pytest.raises(TaskFailed, match="lone surrogate"):
            await task.result()


async def test_an_argument_that_is_only_shown_may_have_any_text(place: Place) -> None:
    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        task = await runtime.start(Odd(place="the argument of an effect"))
        assert await task.result() == "free 4"


async def test_an_operator_whose_name_cannot_be_stored_disturbs_no_task(
    place: Place, gate: Gate
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Waiting(name="a"))
        await gate.until("a")

        for action in (task.cancel, task.resume):
            with pytest.raises(BadCall, match="lone surrogate"):
                await action(by=ODD)
            with pytest.raises(BadCall, match="lone surrogate"):
                await action(why=ODD)

        gate.open("a")
        assert await task.result() == "a"


class Refusing(MemoryStore):
    """Refuses one write of a task when it is told to."""

    refuses: ClassVar[bool] = False

    def submit(self, draft: Draft) -> None:
        if not (Refusing.refuses and hasattr(draft, "ledger")):
            super().submit(draft)
            return
        Refusing.refuses = False
        draft.seal()
        refusal = StaleAttempt("odd", "for the test")
        asyncio.get_running_loop().call_soon(draft.settle, refusal)


class Refused(Actor, name="refused_writes.Refused"):
    """A step whose checkpoint the store refuses, once."""

    executed: ClassVar[list[str]] = []

    async def run(self) -> str:
        await self.before()
        return await self.work()

    @step
    async def before(self) -> None:
        self.executed.append("before")

    @step(retry=ONCE)
    async def work(self) -> str:
        self.executed.append("work")
        Refusing.refuses = len(self.executed) == 2
        return "done"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def refusing(clock: ManualClock) -> AsyncIterator[Runtime]:
    store = Refusing(clock=clock)
    Refused.executed = []
    tree = Pool(restart=Restart(3))
    async with Runtime(":memory:", store=store, clock=clock, tree=tree, grace=0) as runtime:
        yield runtime
    store.discard()


async def test_a_task_whose_own_write_was_refused_is_given_up_and_says_why(
    refusing: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    task = await refusing.start(Refused(), id="odd")

    with pytest.raises(TaskFailed, match="for the test"):
        await task.result()

    assert Refused.executed == ["before", "work"]
    assert (await task.status()).status is Status.FAILED
    assert (await kinds(task))[-1] == "task_failed"
    assert "a write of the task odd was refused" in caplog.text


async def test_a_server_that_waited_and_whose_answer_was_refused_is_given_up_and_who_asks_hears_it(
    refusing: Runtime,
) -> None:
    server = refusing.get(Account, "ann")
    assert await server.ask(Account.pay_in, 1) == 1
    assert (await server.task.status()).status is Status.WAITING

    Refusing.refuses = True
    with pytest.raises(TaskEnded):
        await server.ask(Account.pay_in, 2)

    assert (await server.task.status()).status is Status.FAILED


async def test_a_task_whose_wait_could_not_be_written_is_given_up_and_says_why(
    refusing: Runtime, clock: ManualClock
) -> None:
    class Receiving(Actor, name="refused_writes.Receiving"):
        async def run(self) -> str:
            Refusing.refuses = True
            return await self.ctx.receive(str)

    task = await refusing.start(Receiving())
    given_up = asyncio.create_task(task.result())
    await clock.until_waiting(within=10)
    clock.advance(10)  # after which it would leave memory

    with pytest.raises(TaskFailed, match="for the test"):
        await given_up


async def test_a_task_that_was_given_up_for_a_refusal_goes_on_when_it_is_resumed(
    refusing: Runtime,
) -> None:
    task = await refusing.start(Refused(), id="odd")
    with pytest.raises(TaskFailed):
        await task.result()

    assert await task.resume()

    assert await task.result() == "done"
    assert Refused.executed == ["before", "work", "work"]
    assert await (await refusing.start(Plain())).result() == "refunds: 2"


async def test_a_fault_of_ours_while_an_end_is_recorded_leaves_no_task_running(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool fails with the fault and is started again; the task is given up, not retried."""

    def fault(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("everstep.supervisor.lives.tell_of_end", fault)
    Unsteady.errors = [ValueError("no")]
    async with place.runtime() as runtime:
        back = heard(runtime, "child_started", "tasks")
        await asyncio.sleep(0)
        task = await runtime.start(Unsteady(), id="odd")

        with pytest.raises(TaskFailed, match="a fault"):
            await task.result()
        await back
        assert (await task.status()).status is Status.FAILED
        assert await (await runtime.start(Plain())).result() == "refunds: 2"
