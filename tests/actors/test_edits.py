"""What an edited class makes of the rows of an older one."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from everstep.actors.actor import Actor
from everstep.actors.exits import Crashed, Halted, Succeeded
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.actors.upcast import upcast
from tests.actors.crashing import EXECUTED, Tools, crash_then
from tests.actors.driver import driving

ONCE = Retry(max_attempts=1)


@pytest.fixture(autouse=True)
def _nothing_executed() -> None:
    EXECUTED.clear()


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


async def test_finished_steps_that_a_plan_has_no_longer_are_reported_once() -> None:
    class Before(Actor, name="replay.renamed"):
        @step
        async def mail(self) -> None: ...

        @step(retry=ONCE)
        async def last(self) -> None:
            raise RuntimeError("crash")

    class After(Actor, name="replay.renamed"):
        crash: ClassVar[bool] = True

        @step
        async def post(self) -> None: ...

        @step(retry=ONCE)
        async def last(self) -> None:
            if After.crash:
                raise RuntimeError("crash")

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Before(), After)
        assert isinstance(ended, Crashed)
        ledger = await driver.claimed(ledger.row.id)
        await driver.crash(ledger, ended)
        After.crash = False
        assert await driver.again(ledger, After) == Succeeded()
        events = await driver.store.events(ledger.row.key)
        unused = [e.event.data for e in events if e.event.kind == "steps_unused"]
        assert unused == [b'{"steps":["mail"]}']


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


async def test_a_step_that_a_plan_gained_among_finished_ones_sees_the_present_state() -> None:
    class Before(Actor, name="replay.among"):
        total: int = 0

        @step
        async def one(self) -> None:
            self.total = 1

        @step
        async def two(self) -> None:
            self.total = 2

        @step(retry=ONCE)
        async def three(self) -> None:
            raise ValueError("crash")

    class After(Actor, name="replay.among"):
        total: int = 0
        seen: int = 0

        @step
        async def one(self) -> None: ...

        @step
        async def between(self) -> None:
            self.seen = self.total

        @step
        async def two(self) -> None: ...

        @step
        async def three(self) -> list[int]:
            return [self.seen, self.total]

    async with driving() as driver:
        ledger, ended = await crash_then(driver, Before(), After)
        assert ended == Succeeded()
        assert await driver.result(ledger, After) == [2, 2]
