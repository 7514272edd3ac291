"""What a flow finds again after a crash: its steps, its state and its failures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everstep.actors.actor import Actor
from everstep.actors.exits import Crashed, Succeeded
from everstep.actors.failures import StepFailed
from everstep.actors.log import Log
from everstep.actors.retry import Retry
from everstep.actors.step import step
from tests.actors.crashing import EXECUTED, Tools, crash_then
from tests.actors.driver import driving

ONCE = Retry(max_attempts=1)


@pytest.fixture(autouse=True)
def _nothing_executed() -> None:
    EXECUTED.clear()


async def test_a_gather_of_a_keyed_step_finds_each_call_by_its_key() -> None:
    class Before(Tools, name="replay.gather"):
        async def run(self) -> list[str]:
            await asyncio.gather(*(self.say(word) for word in "abc"))
            raise RuntimeError("crash")

    class After(Tools, name="replay.gather"):
        async def run(self) -> list[str]:
            said = await asyncio.gather(*(self.say(word) for word in "dcba"))
            return [*said, *self.log]

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Before(), After)
        assert ended == Succeeded()
        assert await driver.result(ledger, After) == [*"DCBA", *"abcd"]
        assert EXECUTED == ["say a", "say b", "say c", "say d"]


async def test_a_plan_finds_each_item_of_its_log_once() -> None:
    class Before(Actor, name="replay.logged"):
        log: Log[str] = Log()

        @step
        async def one(self) -> None:
            self.log.append("one")

        @step
        async def two(self) -> None:
            self.log.append("two")

        @step(retry=ONCE)
        async def three(self) -> list[str]:
            raise RuntimeError("crash")

    class After(Before, name="replay.logged"):
        @step
        async def three(self) -> list[str]:
            return list(self.log)

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Before(), After)
        assert ended == Succeeded()
        assert await driver.result(ledger, After) == ["one", "two"]


async def test_a_step_inserted_before_finished_ones_sees_the_state_at_its_place() -> None:
    class Before(Tools, name="replay.inserted"):
        async def run(self) -> int:
            await self.add(1)
            await self.add(2)
            raise RuntimeError("crash")

    class After(Tools, name="replay.inserted"):
        async def run(self) -> list[int]:
            seen = [self.total, await self.look()]
            await self.add(1)
            seen += [self.total, await self.look()]
            await self.add(2)
            return [*seen, self.total]

        @step
        async def look(self) -> int:
            return self.total

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Before(), After)
        assert ended == Succeeded()
        assert await driver.result(ledger, After) == [0, 0, 1, 1, 3]
        assert EXECUTED == ["add 1", "add 2"]


async def test_a_step_that_gained_a_key_finds_its_unkeyed_checkpoints() -> None:
    class Before(Actor, name="replay.keyed"):
        async def run(self) -> None:
            for word in "ab":
                await self.say(word)
            raise RuntimeError("crash")

        @step
        async def say(self, word: str) -> str:
            EXECUTED.append(word)
            return word.upper()

    class After(Actor, name="replay.keyed"):
        async def run(self) -> list[str]:
            return [await self.say(word) for word in "bca"]

        @step(key="word")
        async def say(self, word: str) -> str:
            EXECUTED.append(word)
            return word.upper()

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Before(), After)
        assert ended == Succeeded()
        assert await driver.result(ledger, After) == ["B", "C", "A"]
        assert EXECUTED == ["a", "b", "c"]


async def test_what_run_changed_is_made_anew_and_never_applied_twice() -> None:
    crash = ["crash"]

    class Changing(Tools, name="replay.changing"):
        async def run(self) -> list[Any]:
            self.words.append("run")
            self.log.append("first")
            await self.add(1)
            self.total *= 10
            self.log.append("second")
            await self.add(2)
            if crash:
                raise RuntimeError(crash.pop())
            self.words.append("end")
            await self.add(3)
            return [self.total, self.words, list(self.log)]

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Changing(), Changing)
        assert ended == Succeeded()
        expected = [15, ["run", "end"], ["first", "second"]]
        assert await driver.result(ledger, Changing) == expected
        state = await driver.state(ledger, Changing)
        assert [state.total, state.words, list(state.log)] == expected
        assert EXECUTED == ["add 1", "add 2", "add 3"]


async def test_overlapping_changes_of_one_field_conflict_and_appends_do_not() -> None:
    class Overlapping(Tools, name="replay.overlapping"):
        async def run(self) -> str:
            await asyncio.gather(self.say("a"), self.say("b"))
            try:
                await asyncio.gather(self.set_words("a"), self.set_words("b"))
            except StepFailed as failed:
                return failed.failure.message
            return ""

        @step(key="word")
        async def set_words(self, word: str) -> None:
            await asyncio.sleep(0)
            self.words.append(word)

    async with driving() as driver:
        ledger = await driver.create(Overlapping())
        assert await driver.live(ledger, Overlapping) == Succeeded()
        message = await driver.result(ledger, Overlapping)
        assert "'words'" in message
        assert "set_words:a" in message
        assert "set_words:b" in message
        assert "Log" in message
        assert sorted((await driver.state(ledger, Overlapping)).log) == ["a", "b"]


async def test_unkeyed_calls_from_two_tasks_at_once_are_refused_with_the_line_to_write() -> None:
    class Ambiguous(Actor, name="replay.ambiguous"):
        async def run(self) -> None:
            await asyncio.gather(self.helper("a"), self.helper("b"))

        async def helper(self, url: str) -> None:
            await self.fetch(url)

        @step
        async def fetch(self, url: str) -> None:
            await asyncio.sleep(0)

    async with driving() as driver:
        ended = await driver.run(Ambiguous())
        assert isinstance(ended, Crashed)
        assert ended.never_retried
        assert '@step(key="url")' in ended.failure.message


async def test_unkeyed_calls_written_as_arguments_of_gather_need_no_key() -> None:
    class Fine(Tools, name="replay.fine"):
        async def run(self) -> list[int]:
            return await asyncio.gather(*(self.count(number) for number in range(10)))

        @step
        async def count(self, number: int) -> int:
            await asyncio.sleep(0)
            return number

    async with driving() as driver:
        ledger = await driver.create(Fine())
        assert await driver.live(ledger, Fine) == Succeeded()
        assert await driver.result(ledger, Fine) == list(range(10))


async def test_a_failure_that_run_caught_and_went_on_from_is_remembered() -> None:
    crash = ["crash"]

    class Careful(Tools, name="replay.careful"):
        async def run(self) -> str:
            kind = ""
            try:
                await self.breaks()
            except StepFailed as failed:
                kind = failed.failure.kind
            await self.add(1)
            if crash:
                raise RuntimeError(crash.pop())
            return kind

        @step(retry=ONCE)
        async def breaks(self) -> None:
            EXECUTED.append("breaks")
            raise LookupError

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Careful(), Careful)
        assert ended == Succeeded()
        assert await driver.result(ledger, Careful) == "LookupError"
        assert EXECUTED == ["breaks", "add 1"]


@pytest.mark.parametrize("how", ["wrapped", "group", "lost"])
async def test_a_failure_that_left_run_in_any_form_gets_a_fresh_budget(how: str) -> None:
    class Leaving(Actor, name="replay.leaving"):
        how: str

        async def run(self) -> str:
            try:
                return await self.breaks()
            except StepFailed as failed:
                if self.how == "wrapped":
                    raise ValueError("wrapped") from failed
                if self.how == "group":
                    raise ExceptionGroup("group", [KeyError(), failed]) from None
            raise ValueError("lost")

        @step(retry=ONCE)
        async def breaks(self) -> str:
            EXECUTED.append("breaks")
            if len(EXECUTED) < 2:
                raise OSError("once")
            return "done"

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Leaving(how=how), Leaving)
        assert ended == Succeeded()
        assert await driver.result(ledger, Leaving) == "done"
