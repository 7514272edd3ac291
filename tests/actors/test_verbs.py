"""What `ctx` answers in `run`, other functions as steps, and what debug shows."""

from __future__ import annotations

from typing import Any

import pytest

from everstep.actors.actor import Actor
from everstep.actors.exits import Crashed, Succeeded
from everstep.actors.log import Log
from everstep.actors.step import step
from tests.actors.crashing import EXECUTED, Tools, crash_then
from tests.actors.driver import driving


@pytest.fixture(autouse=True)
def _nothing_executed() -> None:
    EXECUTED.clear()


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


async def test_an_attribute_that_is_not_declared_fails_by_name_and_is_not_retried() -> None:
    class Hasty(Actor, name="replay.hasty"):
        count: int = 0

        @step
        async def work(self) -> None:
            setattr(self, "cuont", 1)  # noqa: B010  as a type checker would not let it pass

    async with driving() as driver:
        ended = await driver.run(Hasty())
        assert isinstance(ended, Crashed)
        assert ended.never_retried
        assert "cuont" in ended.failure.message


@pytest.mark.parametrize("what", ["field", "output"])
async def test_a_value_of_another_type_than_declared_fails_by_name_and_is_not_retried(
    what: str,
) -> None:
    class Wrong(Actor, name="replay.wrong"):
        what: str
        count: int = 0

        @step
        async def work(self) -> int:
            wrong: Any = "no number"
            if self.what == "field":
                self.count = wrong
                return 1
            return wrong  # type: ignore[no-any-return]  # that is the point

    async with driving() as driver:
        ended = await driver.run(Wrong(what=what))
        assert isinstance(ended, Crashed)
        assert ended.never_retried
        named = "the field 'count'" if what == "field" else "the output of step work"
        assert named in ended.failure.message
