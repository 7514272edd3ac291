"""What one life of an actor does, from the first step to its ended."""

from __future__ import annotations

import asyncio
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.exits import Crashed, Halted, Succeeded
from everstep.actors.failures import StepFailed
from everstep.actors.log import Log
from everstep.actors.retry import Retry
from everstep.actors.step import step
from tests.actors.driver import driving

ONCE = Retry(max_attempts=1)
SOON = Retry(max_attempts=3, backoff=none())


class Report(Actor, name="execution.report"):
    topic: str
    sources: list[str] = []
    summary: str = ""

    @step
    async def load(self) -> None:
        self.sources = [self.topic, "b"]

    @step
    async def summarise(self) -> None:
        self.sources.append("c")
        self.summary = "+".join(self.sources)

    @step
    async def publish(self) -> str:
        return f"<{self.summary}>"


async def test_a_plan_runs_its_steps_as_written_and_ends_with_the_output_of_the_last() -> None:
    async with driving() as driver:
        ledger = await driver.create(Report(topic="a"))
        assert await driver.live(ledger, Report) == Succeeded()
        assert await driver.result(ledger, Report) == "<a+b+c>"
        state = await driver.state(ledger, Report)
        assert (state.topic, state.sources, state.summary) == ("a", ["a", "b", "c"], "a+b+c")
        assert await driver.kinds(ledger) == [
            "step_started load",
            "step_completed load",
            "step_started summarise",
            "step_completed summarise",
            "step_started publish",
            "step_completed publish",
            "task_succeeded",
        ]


class Flow(Actor, name="execution.flow"):
    seen: list[int] = []
    log: Log[str] = Log()
    note: str = ""

    async def run(self) -> int:
        self.note = "begun"
        total = 0
        for number in range(3):
            total += await self.add(number)
        first, second = await asyncio.gather(self.keyed("x"), self.keyed("y"))
        self.log.append("run")
        return total + first + second

    @step
    async def add(self, number: int) -> int:
        self.seen.append(number)
        self.log.append(f"add {number}")
        return number * 10

    @step(key="word")
    async def keyed(self, word: str) -> int:
        self.log.append(word)
        return len(word)


async def test_a_flow_is_ordinary_code_that_calls_steps() -> None:
    async with driving() as driver:
        ledger = await driver.create(Flow())
        assert await driver.live(ledger, Flow) == Succeeded()
        assert await driver.result(ledger, Flow) == 32
        state = await driver.state(ledger, Flow)
        assert state.seen == [0, 1, 2]
        assert list(state.log) == ["add 0", "add 1", "add 2", "x", "y", "run"]
        assert state.note == "begun"


class Broken(Actor, name="execution.broken"):
    tried: int = 0
    items: list[dict[str, int]] = [{"a": 1}]
    log: Log[dict[str, int]] = Log([{"l": 1}])

    async def run(self) -> int:
        return await self.breaks()

    @step(retry=SOON)
    async def breaks(self) -> int:
        assert self.tried == 0 and self.items == [{"a": 1}] and list(self.log) == [{"l": 1}]
        self.tried += 1
        self.items[0]["a"] = 2
        self.items.append({})
        self.log.append({})
        self.log[0]["l"] = 2
        if self.ctx.attempt < 3:
            raise ValueError("no")
        return self.ctx.attempt


async def test_a_failed_attempt_leaves_no_trace_in_the_next_one() -> None:
    async with driving() as driver:
        ledger = await driver.create(Broken())
        assert await driver.live(ledger, Broken) == Succeeded()
        assert await driver.result(ledger, Broken) == 3
        state = await driver.state(ledger, Broken)
        assert (state.tried, state.items, list(state.log)) == (1, [{"a": 2}, {}], [{"l": 1}, {}])


async def test_a_step_that_used_up_its_attempts_raises_step_failed_in_run() -> None:
    caught: list[StepFailed] = []

    class Careful(Actor, name="execution.careful"):
        async def run(self) -> str:
            try:
                await self.breaks()
            except StepFailed as failed:
                caught.append(failed)
            return await self.after()

        @step(retry=SOON)
        async def breaks(self) -> None:
            raise KeyError("gone")

        @step(retry=ONCE)
        async def after(self) -> str:
            return "after"

    async with driving() as driver:
        ledger = await driver.create(Careful())
        assert await driver.live(ledger, Careful) == Succeeded()
        assert await driver.result(ledger, Careful) == "after"
        (failed,) = caught
        assert failed.is_a(LookupError) and not failed.is_a(ValueError) and failed.attempts == 3


async def test_a_crash_names_the_failures_that_get_a_fresh_budget() -> None:
    class Bad(Actor, name="execution.bad"):
        async def run(self) -> None:
            await self.breaks()

        @step(retry=ONCE)
        async def breaks(self) -> None:
            raise OSError("disk")

    async with driving() as driver:
        ledger = await driver.create(Bad())
        ended = await driver.live(ledger, Bad)
        assert isinstance(ended, Crashed) and not ended.never_retried
        assert [reset.identity for reset in ended.forget] == ["breaks"]
        assert ended.failure.is_a(StepFailed)


class Counted(Actor, name="execution.counted"):
    fail: bool = False

    async def run(self) -> list[int]:
        numbers = [await self.first(n) for n in range(3)]
        if self.fail:
            raise RuntimeError("crash")
        return numbers

    @step
    async def first(self, n: int) -> int:
        EXECUTED.append(n)
        return n


EXECUTED: list[int] = []


async def test_a_finished_step_returns_what_it_returned_in_the_next_life() -> None:
    EXECUTED.clear()
    async with driving() as driver:
        ledger = await driver.create(Counted(fail=True))
        ended = await driver.live(ledger, Counted)
        assert isinstance(ended, Crashed)
        await driver.crash(ledger, ended)
        ended = await driver.again(ledger, Counted)
        assert isinstance(ended, Crashed)
        assert EXECUTED == [0, 1, 2]


async def test_other_arguments_for_an_unkeyed_finished_step_pause_the_task() -> None:
    numbers = [1, 2]

    class Edited(Actor, name="execution.edited"):
        async def run(self) -> None:
            for number in numbers:
                await self.add(number)
            raise RuntimeError("crash")

        @step
        async def add(self, number: int) -> int:
            return number

    async with driving() as driver:
        ledger = await driver.create(Edited())
        ended = await driver.live(ledger, Edited)
        assert isinstance(ended, Crashed)
        await driver.crash(ledger, ended)
        numbers.insert(0, 7)
        ended = await driver.again(ledger, Edited)
        assert isinstance(ended, Halted) and ended.reason == "replay_mismatch"
        assert "number" in ended.failure.message and "7" in ended.failure.message


async def test_nested_steps_are_found_again_when_the_step_above_is_repeated() -> None:
    executed: list[str] = []

    class Nested(Actor, name="execution.nested"):
        values: list[int] = []
        log: Log[int] = Log()

        async def run(self) -> int:
            return await self.outer()

        @step(retry=SOON)
        async def outer(self) -> int:
            executed.append("outer")
            total = await self.inner(1) + await self.inner(2)
            if self.ctx.attempt == 1:
                raise ValueError("once")
            return total

        @step
        async def inner(self, number: int) -> int:
            executed.append(f"inner {number}")
            self.values.append(number)
            self.log.append(number)
            return number

    async with driving() as driver:
        ledger = await driver.create(Nested())
        assert await driver.live(ledger, Nested) == Succeeded()
        assert await driver.result(ledger, Nested) == 3
        assert executed == ["outer", "inner 1", "inner 2", "outer"]
        state = await driver.state(ledger, Nested)
        assert state.values == [1, 2] and list(state.log) == [1, 2]


async def test_a_chapter_ends_with_again_and_leaves_nothing_behind() -> None:
    class Forever(Actor, name="execution.forever"):
        count: int = 0
        log: Log[int] = Log()

        async def run(self) -> Any:
            await self.work()
            if self.count < 3:
                return self.ctx.again()
            return self.count

        @step
        async def work(self) -> None:
            self.count += 1
            self.log.append(self.count)

    async with driving() as driver:
        ledger = await driver.create(Forever())
        assert await driver.live(ledger, Forever) == Succeeded()
        assert await driver.result(ledger, Forever) == 3
        state = await driver.state(ledger, Forever)
        assert state.count == 3 and list(state.log) == [1, 2, 3]
        steps = await driver.store.steps(ledger.row.key)
        assert [row.identity for _, row in steps] == ["work", "@2/work", "@3/work"]


async def test_an_attempt_that_never_ends_is_closed_uncharged_when_its_life_is_released() -> None:
    began = asyncio.Event()

    class Stuck(Actor, name="execution.stuck"):
        async def run(self) -> None:
            await asyncio.gather(self.deaf())

        @step
        async def deaf(self) -> None:
            await asyncio.gather(self._swallow())

        async def _swallow(self) -> None:
            while True:
                try:
                    began.set()
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    if began.is_set() and stopped:
                        return

    stopped: list[bool] = []
    async with driving() as driver:
        ledger = await driver.create(Stuck())
        life = driver.life(ledger, Stuck)
        living = asyncio.create_task(life.live())
        await began.wait()
        releasing = asyncio.create_task(life.release(grace=0, cleanup=1))
        while not releasing.done():
            driver.clock.advance_to_next()
            await asyncio.sleep(0)
        await ledger.durable()
        (row,) = [row for _, row in await driver.store.steps(ledger.row.key)]
        assert (row.attempts, row.open) == (0, 0)
        stopped.append(True)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            if "everstep" not in task.get_name():
                task.cancel()
        await asyncio.wait([living])
