"""Steps and flows may use asyncio and anyio as they like."""

from __future__ import annotations

import asyncio
import contextlib

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.exits import Crashed, Succeeded
from everstep.actors.failures import StepFailed
from everstep.actors.log import Log
from everstep.actors.retry import Retry
from everstep.actors.step import step
from tests.actors.driver import driving

ONCE = Retry(max_attempts=1)


class Words(Actor, name="concurrency.words"):
    """Steps for flows to call."""

    log: Log[str] = Log()

    @step(key="word", retry=ONCE)
    async def say(self, word: str) -> str:
        await anyio.lowlevel.checkpoint()
        if word == "bad":
            raise ValueError(word)
        self.log.append(word)
        return word.upper()

    @step(retry=ONCE)
    async def hang(self) -> None:
        await asyncio.Event().wait()


class WithTaskGroup(Words, name="concurrency.task_group"):
    async def run(self) -> list[str]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.say(word)) for word in "abc"]
        return [task.result() for task in tasks]


class WithAnyio(Words, name="concurrency.anyio"):
    async def run(self) -> list[str]:
        said: list[str] = []

        async def say(word: str) -> None:
            said.append(await self.say(word))

        async with anyio.create_task_group() as group:
            for word in "abc":
                group.start_soon(say, word)
        return sorted(said)


class WithAsCompleted(Words, name="concurrency.as_completed"):
    async def run(self) -> list[str]:
        return sorted([await done for done in asyncio.as_completed(map(self.say, "abc"))])


class WithShield(Words, name="concurrency.shield"):
    async def run(self) -> list[str]:
        return [await asyncio.shield(self.say(word)) for word in "abc"]


class WithSemaphore(Words, name="concurrency.semaphore"):
    async def run(self) -> list[str]:
        limit = asyncio.Semaphore(2)

        async def helper(word: str) -> str:
            async with limit:
                return await self.say(word)

        return await asyncio.gather(*map(helper, "abc"))


class WithNestedGroup(Words, name="concurrency.nested"):
    async def run(self) -> list[str]:
        return await self.all()

    @step
    async def all(self) -> list[str]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.say(word)) for word in "abc"]
        return [task.result() for task in tasks]


@pytest.mark.parametrize(
    "actor",
    [WithTaskGroup, WithAnyio, WithAsCompleted, WithShield, WithSemaphore, WithNestedGroup],
)
async def test_steps_may_be_called_from_tasks_of_any_making(actor: type[Words]) -> None:
    async with driving() as driver:
        ledger = await driver.create(actor())
        assert await driver.live(ledger, actor) == Succeeded()
        assert await driver.result(ledger, actor) == ["A", "B", "C"]
        assert sorted((await driver.state(ledger, actor)).log) == ["a", "b", "c"]


async def test_return_exceptions_gives_run_the_failures_as_values() -> None:
    class Lenient(Words, name="concurrency.lenient"):
        async def run(self) -> list[str]:
            results = await asyncio.gather(
                *map(self.say, ("a", "bad", "c")), return_exceptions=True
            )
            return ["failed" if isinstance(one, StepFailed) else str(one) for one in results]

    async with driving() as driver:
        ledger = await driver.create(Lenient())
        assert await driver.live(ledger, Lenient) == Succeeded()
        assert await driver.result(ledger, Lenient) == ["A", "failed", "C"]


@pytest.mark.parametrize("how", ["wait_for", "timeout", "move_on_after", "race"])
async def test_a_step_that_lost_against_time_or_another_leaves_nothing(how: str) -> None:
    class Losing(Words, name="concurrency.losing"):
        how: str

        async def run(self) -> str:
            await getattr(self, self.how)()
            return await self.say("after")

        async def wait_for(self) -> None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.hang(), 0.01)

        async def timeout(self) -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    await self.hang()

        async def move_on_after(self) -> None:
            with anyio.move_on_after(0.01):
                await self.hang()

        async def race(self) -> None:
            tasks = [asyncio.create_task(self.hang()), asyncio.create_task(self.say("won"))]
            _, lost = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in lost:
                task.cancel()
            await asyncio.wait(lost)

    async with driving() as driver:
        ledger = await driver.create(Losing(how=how))
        assert await driver.live(ledger, Losing) == Succeeded()
        assert await driver.result(ledger, Losing) == "AFTER"
        rows = {row.name: row for _, row in await driver.store.steps(ledger.row.key)}
        assert (rows["hang"].attempts, rows["hang"].open, rows["hang"].outcome) == (0, 0, None)


async def test_a_step_may_use_scopes_shields_and_threads_of_anyio() -> None:
    class Inside(Actor, name="concurrency.inside"):
        @step
        async def work(self) -> list[str]:
            done: list[str] = []
            with anyio.move_on_after(0.01) as scope:
                await anyio.sleep_forever()
            done.append(f"moved on {scope.cancelled_caught}")
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            done.append(await anyio.to_thread.run_sync(lambda: "thread"))
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep, 0)
                group.cancel_scope.cancel()
            return done

    async with driving() as driver:
        ledger = await driver.create(Inside())
        assert await driver.live(ledger, Inside) == Succeeded()
        assert await driver.result(ledger, Inside) == ["moved on True", "thread"]


async def test_a_time_limit_goes_through_a_shield_and_a_task_group() -> None:
    began = asyncio.Semaphore(0)

    class Shielded(Actor, name="concurrency.shielded"):
        @step(retry=Retry(max_attempts=2, backoff=none()), timeout=5)
        async def work(self) -> int:
            if self.ctx.attempt == 2:
                return 2
            began.release()
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep_forever)
                with anyio.CancelScope(shield=True):
                    await anyio.sleep_forever()
            return 1

    async with driving() as driver:
        ledger = await driver.create(Shielded())
        life = asyncio.create_task(driver.live(ledger, Shielded))
        await began.acquire()
        driver.clock.advance(5)
        assert await life == Succeeded()
        assert await driver.result(ledger, Shielded) == 2


async def test_a_failure_in_a_group_of_one_is_retried_by_the_kind_of_its_member() -> None:
    class Grouped(Actor, name="concurrency.grouped"):
        @step(retry=Retry(max_attempts=5, backoff=none(), give_up_on=(KeyError,)))
        async def work(self) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.fail())

        async def fail(self) -> None:
            raise KeyError(self.ctx.attempt)

    async with driving() as driver:
        ended = await driver.run(Grouped())
        assert isinstance(ended, Crashed)
        assert ended.never_retried
        assert "KeyError: 1" in ended.failure.message


class Own(BaseException):
    pass


@pytest.mark.parametrize("way", ["work", "work_in_a_thread"])
@pytest.mark.parametrize("error", [Own("own"), StopIteration("stop"), GeneratorExit("exit")])
async def test_any_other_base_exception_is_a_failure_like_any_other(
    error: BaseException, way: str
) -> None:
    class Odd(Actor, name="concurrency.odd"):
        async def run(self) -> str:
            try:
                await getattr(self, way)()
            except StepFailed as failed:
                return failed.failure.kind
            return ""

        @step(retry=ONCE)
        async def work(self) -> None:
            raise error

        @step(retry=ONCE)
        def work_in_a_thread(self) -> None:
            raise error

    async with driving() as driver:
        ledger = await driver.create(Odd())
        assert await driver.live(ledger, Odd) == Succeeded()
        assert await driver.result(ledger, Odd) != ""


async def test_code_of_a_step_that_has_ended_may_call_no_more_steps() -> None:
    late: list[str] = []
    go = asyncio.Event()
    ended = asyncio.Event()

    class Leaving(Words, name="concurrency.leaving"):
        async def run(self) -> None:
            await self.leaves()
            go.set()
            await ended.wait()

        @step
        async def leaves(self) -> None:
            tasks.append(asyncio.create_task(self._later()))

        async def _later(self) -> None:
            await go.wait()
            try:
                await self.say("late")
            except Exception as error:
                late.append(type(error).__name__)
            ended.set()

    tasks: list[asyncio.Task[None]] = []
    async with driving() as driver:
        ledger = await driver.create(Leaving())
        assert await driver.live(ledger, Leaving) == Succeeded()
        assert late == ["StaleAttempt"]
        await asyncio.wait(tasks)
