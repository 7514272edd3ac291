"""What a flow finds again after a crash: its steps, its state, and what changed in its code."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.exits import Crashed, Halted, Succeeded
from everstep.actors.failures import StepFailed
from everstep.actors.log import Log
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.actors.upcast import upcast
from tests.actors.driver import Driver, driving

ONCE = Retry(max_attempts=1)
SOON = Retry(max_attempts=2, backoff=none())
EXECUTED: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_executed() -> None:
    EXECUTED.clear()


async def crash_then(driver: Driver, actor: Actor, later: type[Actor]) -> tuple[Any, Any]:
    """Crash one life of `actor`, live again as `later`: (ledger, how that ended)."""
    ledger = await driver.create(actor)
    ended = await driver.live(ledger, type(actor))
    assert isinstance(ended, Crashed), ended
    await driver.crash(ledger, ended)
    return ledger, await driver.again(ledger, later)


class Tools(Actor, name="replay.base"):
    """Steps for flows to call; each run fails until CRASH is empty."""

    total: int = 0
    words: list[str] = []
    log: Log[str] = Log()

    @step
    async def add(self, number: int) -> int:
        EXECUTED.append(f"add {number}")
        self.total += number
        return number

    @step(key="word")
    async def say(self, word: str) -> str:
        EXECUTED.append(f"say {word}")
        self.log.append(word)
        return word.upper()


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


async def test_verbs_in_run_answer_the_same_in_a_replay_and_repeat_nothing() -> None:
    crash = ["crash"]

    class Verbs(Tools, name="replay.verbs"):
        async def run(self) -> list[str]:
            answers = [str(self.ctx.now()), str(self.ctx.random()), str(self.ctx.uuid())]
            self.ctx.emit("began", {"n": 1})
            seen.append(answers)
            await self.add(1)
            if crash:
                raise RuntimeError(crash.pop())
            return answers

    seen: list[list[str]] = []
    async with driving() as driver:
        ledger = await driver.create(Verbs())
        ended = await driver.live(ledger, Verbs)
        assert isinstance(ended, Crashed)
        await driver.crash(ledger, ended)
        driver.clock.advance(1000)
        assert await driver.again(ledger, Verbs) == Succeeded()
        assert seen[0] == seen[1]
        assert (await driver.kinds(ledger)).count("began") == 1


async def test_any_function_is_a_step_through_ctx() -> None:
    crash = ["crash"]

    async def double(number: int) -> int:
        EXECUTED.append(f"double {number}")
        return number * 2

    def half(number: int) -> float:
        return number / 2

    class Functions(Actor, name="replay.functions"):
        async def run(self) -> list[float]:
            numbers = [await self.ctx.step(double, n, key=str(n)) for n in (1, 2)]
            halves = await self.ctx.step(half, 3)
            if crash:
                raise RuntimeError(crash.pop())
            return [*numbers, halves]

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Functions(), Functions)
        assert ended == Succeeded()
        assert await driver.result(ledger, Functions) == [2, 4, 1.5]
        assert EXECUTED == ["double 1", "double 2"]


async def test_steps_that_a_finished_run_never_asked_for_are_reported() -> None:
    class Before(Tools, name="replay.unused"):
        async def run(self) -> None:
            await self.add(1)
            await self.say("x")
            raise RuntimeError("crash")

    class After(Tools, name="replay.unused"):
        async def run(self) -> None:
            await self.add(1)

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Before(), After)
        assert ended == Succeeded()
        events = await driver.store.events(ledger.row.key)
        (unused,) = [e.event.data for e in events if e.event.kind == "steps_unused"]
        assert unused == b'{"steps":["say:x"]}'


async def test_a_lazy_checkpoint_rides_with_the_next_durable_write() -> None:
    class Lazy(Actor, name="replay.lazy"):
        async def run(self) -> int:
            one = await self.one()
            recorded.append(len(await driver.store.steps(ledger.row.key)))
            return one + await self.two()

        @step(checkpoint="lazy")
        async def one(self) -> int:
            return 1

        @step
        async def two(self) -> int:
            return 2

    recorded: list[int] = []
    async with driving() as driver:
        ledger = await driver.create(Lazy())
        assert await driver.live(ledger, Lazy) == Succeeded()
        assert await driver.result(ledger, Lazy) == 3
        assert len(await driver.store.steps(ledger.row.key)) == 2


async def test_state_of_an_older_version_is_lifted_when_it_is_loaded() -> None:
    class Before(Actor, name="replay.lifted"):
        topic: str
        count: int = 0

        async def run(self) -> None:
            await self.more()
            await self.more()
            raise RuntimeError("crash")

        @step
        async def more(self) -> None:
            self.count += 1
            self.topic += "!"

    class After(Actor, name="replay.lifted", version=2):
        subject: str
        count: int = 0
        extra: list[int] = [1]

        @upcast(1)
        @staticmethod
        def rename(state: dict[str, Any]) -> dict[str, Any]:
            state["subject"] = state.pop("topic")
            return state

        async def run(self) -> list[Any]:
            await self.more()
            await self.more()
            await self.more()
            return [self.subject, self.count, self.extra]

        @step
        async def more(self) -> None:
            self.count += 1
            self.subject += "?"

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Before(topic="a"), After)
        assert ended == Succeeded()
        assert await driver.result(ledger, After) == ["a!!?", 3, [1]]
        state = await driver.state(ledger, After)
        assert (state.subject, state.count) == ("a!!?", 3)


async def test_state_that_does_not_load_pauses_the_task_untouched() -> None:
    class Before(Actor, name="replay.unreadable"):
        count: int = 0

        async def run(self) -> None:
            raise RuntimeError("crash")

    class After(Actor, name="replay.unreadable"):
        name: str

        async def run(self) -> None: ...

    async with driving() as driver:
        _, ended = await crash_then(driver, Before(), After)
        assert isinstance(ended, Halted)
        assert ended.reason == "state_unreadable"


async def test_a_plan_that_gained_a_step_runs_it_and_says_so() -> None:
    class Before(Actor, name="replay.plan"):
        total: int = 0

        @step
        async def one(self) -> None:
            self.total += 1

        @step(retry=ONCE)
        async def three(self) -> None:
            raise ValueError("crash")

    class After(Actor, name="replay.plan"):
        total: int = 0

        @step
        async def zero(self) -> None:
            self.total *= 10

        @step
        async def one(self) -> None:
            self.total += 1

        @step
        async def three(self) -> int:
            return self.total

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Before(), After)
        assert ended == Succeeded()
        assert await driver.result(ledger, After) == 10
        assert "step_inserted zero" in await driver.kinds(ledger)


@pytest.mark.parametrize("place", ["step", "run"])
async def test_under_debug_an_item_of_a_log_that_is_changed_later_is_an_error(place: str) -> None:
    class Careless(Actor, name="replay.careless"):
        place: str
        log: Log[dict[str, int]] = Log([{"a": 1}])

        async def run(self) -> None:
            if self.place == "run":
                self.log[0]["a"] = 2
            await self.work()

        @step
        async def work(self) -> None:
            if self.place == "step":
                self.log[0]["a"] = 2

    async with driving() as driver:
        driver.environment.debug = True
        ended = await driver.run(Careless(place=place))
        assert isinstance(ended, Crashed)
        assert ended.never_retried
        assert "log[0]" in ended.failure.message
