"""Actors ask servers, and tell them: durably, once, with the commits of their steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from everstep import (
    Actor,
    HandlerFailed,
    Pool,
    Restart,
    Runtime,
    Status,
    StepFailed,
    TaskFailed,
    WaitTimeout,
    fixed,
    handler,
    step,
)
from everstep.storage import Draft, MemoryStore, SystemClock
from tests.runtime.kit import ONCE, Gate, Place, Plain, kinds, next_event, until
from tests.servers.accounts import Account


@pytest.fixture(autouse=True)
def _nothing_handled() -> None:
    Account.handled = []
    Account.gate = Gate()
    Broken.mended, Broken.tries = False, 0


class Transfer(Actor, name="servers.Transfer"):
    """Moves money from one to another, or tells why not."""

    amount: int

    async def run(self) -> str:
        await self.ctx.get(Account, "ann").ask(Account.pay_in, self.amount, note="ann")
        left = await self.ctx.get(Account, "bob").ask(Account.pay_out, self.amount)
        return f"{left} left"


class Patient(Actor, name="servers.Patient"):
    """Asks for what takes its time."""

    timeout: float | None = None

    async def run(self) -> str:
        account = self.ctx.get(Account, "ann")
        try:
            return await account.ask(Account.slowly, "one", timeout=self.timeout)
        except WaitTimeout:
            return "too slow"


async def test_a_flow_asks_servers_that_its_messages_create(place: Place) -> None:
    async with place.runtime() as runtime:
        assert await (await runtime.start(Transfer(amount=5))).result() == "-5 left"
        assert await runtime.get(Account, "ann").ask(Account.look) == 5


async def test_a_flow_that_asks_leaves_memory_and_hears_the_reply_once(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Patient())
        await Account.gate.until("one")
        await until(task, lambda info: info.status is Status.WAITING)
        place.clock.advance(10)
        await next_event(task, "task_suspended")
        Account.gate.open("one")

        assert await task.result() == "one"
        assert (await kinds(task)).count("task_claimed") == 2
    assert Account.gate.order == ["one"]


async def test_an_ask_of_a_flow_outlasts_a_restart(place: Place) -> None:
    async with place.runtime() as runtime:
        await runtime.start(Patient(), id="p")
        await Account.gate.until("one")
    Account.gate.open("one")
    async with place.runtime() as runtime:
        assert await runtime.task("p").result() == "one"


async def test_an_ask_of_a_flow_that_is_not_answered_in_time_is_over(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Patient(timeout=5))
        await Account.gate.until("one")
        await until(task, lambda info: info.status is Status.WAITING)
        place.clock.advance(5)

        assert await task.result() == "too slow"
        Account.gate.open("one")


async def test_a_flow_hears_of_the_failure_of_a_handler(place: Place) -> None:
    class Hearing(Actor, name="servers.HearingFailures"):
        async def run(self) -> list[str]:
            heard: list[str] = []
            account = self.ctx.get(Account, "ann")
            try:
                await account.ask(Account.break_down, 3)
            except HandlerFailed as failed:
                heard.append(failed.failure.message)
            heard.append(str(await account.ask(Account.look)))
            return heard

    async with place.runtime() as runtime:
        assert await (await runtime.start(Hearing())).result() == ["no money left", "0"]


class Broken(Actor, name="servers.Broken"):
    """Fails at a message until it is mended."""

    mended: ClassVar[bool] = False
    tries: ClassVar[int] = 0

    paid: int = 0

    @handler(retry=ONCE)
    async def pay(self, amount: int) -> int:
        Broken.tries += 1
        if not self.mended:
            raise OSError("no way there")
        self.paid += amount
        return self.paid


class Paying(Actor, name="servers.Paying"):
    """Asks twice, and a third time by a key."""

    async def run(self) -> int:
        server = self.ctx.get(Broken, "b")
        for _ in range(2):
            await server.ask(Broken.pay, 1)
        return await server.ask(Broken.pay, 1, key="third")


async def test_an_ask_whose_failure_left_run_is_made_anew(place: Place) -> None:
    """As a step that has failed gets a fresh budget; what was answered well stays answered."""
    async with place.runtime(pool={"restart": Restart(1, backoff=fixed(0))}) as runtime:
        task = await runtime.start(Paying())
        with pytest.raises(TaskFailed, match="no way there"):
            await task.result()
        assert Broken.tries == 2
        assert await task.resume()
        with pytest.raises(TaskFailed, match="no way there"):
            await task.result()
        assert Broken.tries == 4

        Broken.mended = True
        assert await task.resume()
        assert await task.result() == 3
        assert Broken.tries == 7
        assert "steps_unused" not in await kinds(task)


async def test_an_ask_that_was_refused_is_made_anew(place: Place) -> None:
    class Older(Actor, name="servers.Renewed"):
        @handler
        async def look(self) -> int:
            return 1

    class Newer(Actor, name="servers.Renewed"):
        @handler
        async def look(self) -> int:
            return 2

        @handler
        async def see(self) -> int:
            return 3

    class Looking(Actor, name="servers.Looking"):
        async def run(self) -> int:
            return await self.ctx.get(Newer, "r").ask(Newer.see)

    async with place.runtime(actors=[Older, Looking], pool={"restart": Restart(0)}) as runtime:
        await runtime.get(Older, "r").ask(Older.look)
        task = await runtime.start(Looking(), id="l")
        with pytest.raises(TaskFailed, match="no handler see"):
            await task.result()

    async with place.runtime(actors=[Newer, Looking]) as runtime:
        task = runtime.task("l", Looking)
        await task.resume()
        assert await task.result() == 3


class Watching(MemoryStore):
    """Tells when the end of a wait is handed to it."""

    told: Callable[[], object] | None = None

    def submit(self, draft: Draft) -> None:
        super().submit(draft)
        kinds = [event.kind for event in getattr(draft, "events", ())]
        if "wait_ended" in kinds and self.told is not None:
            self.told()


async def test_an_ask_that_was_cancelled_while_its_failure_was_written_is_begun_anew() -> None:
    class Racing(Actor, name="servers.Racing"):
        crashed: ClassVar[bool] = False

        async def run(self) -> int:
            asking = asyncio.create_task(self.ctx.get(Broken, "b").ask(Broken.pay, 1))
            if not Racing.crashed:
                store.told, Racing.crashed, Broken.mended = asking.cancel, True, False
                await asyncio.wait([asking])
                store.told, Broken.mended = None, True
                raise ValueError("a crash" if asking.cancelled() else "not cancelled")
            return await asking

    store = Watching(clock=SystemClock())
    tree = Pool(restart=Restart(1, backoff=fixed(0)))
    async with Runtime(":memory:", store=store, tree=tree) as runtime:
        task = await runtime.start(Racing())
        assert await task.result() == 1
        crash = await next_event(task, "task_crashed")
    store.discard()
    assert "a crash" in str(crash.data)


async def test_a_failure_that_was_caught_is_the_answer_in_a_replay_too(place: Place) -> None:
    class Catching(Actor, name="servers.Catching"):
        crashed: ClassVar[bool] = False

        async def run(self) -> int:
            server = self.ctx.get(Broken, "b")
            try:
                await server.ask(Broken.pay, 1)
            except HandlerFailed as failed:
                assert failed.is_a(OSError)  # noqa: PT017  (in every replay)
                Broken.mended = True
            first = await server.ask(Broken.pay, 1)
            if not Catching.crashed:
                Catching.crashed = True
                raise ValueError("a crash")
            return first

    async with place.runtime(pool={"restart": Restart(1, backoff=fixed(0))}) as runtime:
        task = await runtime.start(Catching())
        assert await task.result() == 1
        assert Broken.tries == 2
        [_, failed, *_] = await task.steps()
    assert failed.error is not None
    assert failed.error.is_a(HandlerFailed)


async def test_many_asks_at_once_need_keys_and_get_their_own_replies(place: Place) -> None:
    class Many(Actor, name="servers.Many"):
        async def run(self) -> list[str]:
            account = self.ctx.get(Account, "ann")
            asks = (account.ask(Account.slowly, name, key=name) for name in "abc")
            return list(await asyncio.gather(*asks))

    Account.gate.open("a", "b", "c")
    async with place.runtime() as runtime:
        assert await (await runtime.start(Many())).result() == ["a", "b", "c"]


async def test_a_server_tells_another_with_its_commit(place: Place) -> None:
    class Teller(Actor, name="servers.Teller"):
        @handler
        async def pass_on(self, amount: int) -> int:
            await self.ctx.get(Account, "ann").tell(Account.pay_in, amount)
            if self.ctx.attempt == 1:
                raise OSError("once")
            return amount

    async with place.runtime() as runtime:
        asking = asyncio.create_task(runtime.get(Teller, "t").ask(Teller.pass_on, 4))
        while not asking.done():
            place.clock.advance(1)
            await asyncio.sleep(0)

        assert await asking == 4
        assert await runtime.get(Account, "ann").ask(Account.pay_in, 0) == 4


async def test_a_flow_tells_a_server(place: Place) -> None:
    class Telling(Actor, name="servers.Telling"):
        async def run(self) -> None:
            for _ in range(2):
                await self.ctx.get(Account, "ann").tell(Account.pay_in, 4)

    async with place.runtime() as runtime:
        await (await runtime.start(Telling())).result()
        assert await runtime.get(Account, "ann").ask(Account.pay_in, 0) == 8


async def test_an_ask_in_a_step_is_refused(place: Place) -> None:
    class Wrong(Actor, name="servers.Wrong"):
        @step
        async def ask(self) -> None:
            await self.ctx.get(Account, "ann").ask(Account.look)

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match="WaitInStep"):
            await (await runtime.start(Wrong())).result()


class Waiter(Actor, name="servers.Waiter"):
    @handler
    async def look(self) -> int:
        return await self.ctx.get(Account, "ann").ask(Account.look)


async def test_a_handler_that_waits_is_told_to_start_a_flow(place: Place) -> None:
    async with place.runtime() as runtime:
        with pytest.raises(HandlerFailed) as caught:
            await runtime.get(Waiter, "bob").ask(Waiter.look, request_id="r")

    said = str(caught.value)
    assert "ctx.get(…).ask was called in the handler look, and" in said
    assert "await self.ctx.start(" in said


async def test_a_message_to_another_actor_or_a_server_that_ended_is_a_failed_step(
    place: Place,
) -> None:
    class Asking(Actor, name="servers.Asking"):
        whom: str

        async def run(self) -> str:
            try:
                return str(await self.ctx.get(Account, self.whom).ask(Account.look))
            except StepFailed as failed:
                return failed.failure.kind.rpartition(".")[2]

    async with place.runtime() as runtime:
        await runtime.start(Plain(), id="plain")
        ended: Any = runtime.get(Account, "ended")
        await ended.ask(Account.look)
        await ended.task.cancel()

        assert await (await runtime.start(Asking(whom="ended"))).result() == "TaskEnded"
        assert await (await runtime.start(Asking(whom="plain"))).result() == "TaskExists"
