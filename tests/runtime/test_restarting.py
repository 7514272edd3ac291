"""A crashed task goes on from its checkpoints after its backoff, until it is given up."""

import asyncio
import logging
from typing import Any, ClassVar

import pytest

from everstep import (
    Actor,
    Restart,
    Retry,
    Runtime,
    Status,
    Task,
    TaskFailed,
    TaskPaused,
    fixed,
    step,
)
from tests.runtime.kit import Gate, Place, Plain, Unsteady, Waiting, kinds, next_event, until


class Counted(Actor, name="runtime.Counted"):
    """Counts executions of its steps, and crashes between them while it is told to."""

    executed: ClassVar[list[str]] = []
    crashes: ClassVar[int] = 0

    @step
    async def first(self) -> None:
        self.executed.append("first")

    @step
    async def second(self) -> str:
        self.executed.append("second")
        return "done"

    async def run(self) -> str:
        await self.first()
        if Counted.crashes:
            Counted.crashes -= 1
            raise RuntimeError("between the steps")
        return await self.second()


class Hopeless(Actor, name="runtime.Hopeless"):
    @step(retry=Retry(max_attempts=3, give_up_on=(ValueError,)))
    async def load(self) -> None:
        raise ValueError("no")

    async def run(self) -> None:
        await self.load()


class Pair(Actor, name="runtime.Pair"):
    """Two steps side by side: one fails the task, while the backoff of the other ends."""

    gate: ClassVar[Gate] = Gate()

    @step(retry=Retry(1))
    async def fails(self) -> None:
        await self.gate.stop_at("fails")
        raise ValueError("for good")

    @step(retry=Retry(2, backoff=fixed(5), jitter="none"))
    async def backs_off(self) -> None:
        raise ValueError("for now")

    async def run(self) -> None:
        await asyncio.gather(self.fails(), self.backs_off())


@pytest.fixture(autouse=True)
def _nothing_executed() -> None:
    Counted.executed, Counted.crashes = [], 0
    Pair.gate = Gate()


async def test_a_crashed_task_repeats_no_step_that_has_a_checkpoint(place: Place) -> None:
    Counted.crashes = 2
    async with place.runtime() as runtime:
        task = await runtime.start(Counted())

        assert await task.result() == "done"

    assert Counted.executed == ["first", "second"]


@pytest.mark.parametrize("turns", range(12))
async def test_an_attempt_that_was_to_begin_when_the_task_crashed_has_an_end_too(
    place: Place, turns: int
) -> None:
    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        task = await runtime.start(Pair())
        await next_event(task, "step_failed")
        await place.clock.until_waiting(within=5)
        Pair.gate.open("fails")
        for _ in range(turns):
            await asyncio.sleep(0)
        place.clock.advance(5)
        with pytest.raises(TaskFailed, match="for good"):
            await task.result()

        events = [event async for event in task.events() if event.step == "backs_off"]
        ends = ("step_failed", "step_cut", "step_cancelled")
        begun = sum(event.kind == "step_started" for event in events)
        assert begun == sum(event.kind in ends for event in events), events
        assert not any(one.running for one in await task.steps())


async def test_the_backoff_of_a_crash_is_waited_and_holds_no_slot(place: Place) -> None:
    Unsteady.errors = [ValueError("no")]
    pool = {"restart": Restart(3, backoff=fixed(8)), "max_running": 1}
    async with place.runtime(pool=pool) as runtime:
        task = await runtime.start(Unsteady())
        await next_event(task, "task_crashed")
        info = await until(task, lambda info: info.status is Status.QUEUED)
        assert info.due_at is not None
        assert info.due_at.timestamp() == place.clock.now() + 6  # half of it and a quarter more

        assert await (await runtime.start(Plain())).result() == "refunds: 2"
        place.clock.advance(5.9)
        assert (await task.status()).status is Status.QUEUED
        place.clock.advance(0.2)

        assert await task.result() == "at last"


async def test_what_is_left_of_a_backoff_is_waited_after_a_restart(place: Place) -> None:
    Unsteady.errors = [ValueError("no")]
    pool = {"restart": Restart(3, backoff=fixed(8))}
    async with place.runtime(pool=pool) as runtime:
        await next_event(await runtime.start(Unsteady(), id="u"), "task_crashed")
    place.clock.advance(4)
    place.clock.jump(-3600)

    async with place.runtime(pool=pool) as runtime:
        await (await runtime.start(Plain())).result()
        assert (await runtime.task("u").status()).status is Status.QUEUED
        place.clock.advance(30)

        assert await runtime.task("u").result() == "at last"


async def test_one_crash_too_many_gives_up_and_a_new_runtime_does_not_start_it_again(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    Unsteady.errors = [ValueError(str(n)) for n in range(9)]
    async with place.runtime(pool={"restart": Restart(2)}) as runtime:
        task = await runtime.start(Unsteady(), id="u")
        with pytest.raises(TaskFailed, match="2"):
            await task.result()
        assert (await kinds(task)).count("task_claimed") == 3

    async with place.runtime() as runtime:
        assert (await runtime.task("u").status()).status is Status.FAILED
    assert len(Unsteady.errors) == 6
    assert [record.levelno for record in caplog.records].count(logging.WARNING) == 3


async def test_an_error_that_is_never_retried_is_given_up_without_a_restart(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Hopeless())

        with pytest.raises(TaskFailed, match="never_retried") as caught:
            await task.result()

    assert (caught.value.step, caught.value.attempts) == ("load", 1)


async def test_a_pause_that_nobody_asked_for_is_logged_with_the_command_that_ends_it(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    Unsteady.errors = [ValueError("no")]
    async with place.runtime(pool={"restart": Restart(0, on_give_up="pause")}) as runtime:
        await next_event(await runtime.start(Unsteady(), id="u"), "task_paused")

    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "runtime.task('u').resume()" in errors[0]
    assert "ValueError: no" in errors[0].splitlines()[-1]


@pytest.mark.parametrize(("on_give_up", "words"), [("pause", "is paused"), ("fail", "has failed")])
async def test_a_task_that_is_given_up_for_its_deaths_is_logged_with_the_command(
    place: Place, gate: Gate, caplog: pytest.LogCaptureFixture, on_give_up: Any, words: str
) -> None:
    pool = {"restart": Restart(max_deaths=2, on_give_up=on_give_up)}
    for _ in range(2):
        async with place.runtime(pool=pool) as runtime:
            await runtime.start(Waiting(name="k"), id="k")
            await gate.until("k")
            gate.reached.clear()
            place.die()

    async with place.runtime(pool=pool) as runtime:
        await until(runtime.task("k"), lambda info: info.reason == "deaths")
        while "(deaths)" not in caplog.text:  # said when it is committed
            await asyncio.sleep(0)

    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert [error for error in errors if f"task k {words} (deaths)" in error]
    assert "runtime.task('k').resume()" in errors[-1]


async def test_the_last_crash_of_a_task_says_that_it_has_failed(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    Unsteady.errors = [ValueError("no")]
    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        await next_event(await runtime.start(Unsteady(), id="u"), "task_failed")

    assert "task u crashed for the last time and has failed (crashes)" in caplog.text


@pytest.mark.parametrize(
    "error", [ZeroDivisionError, asyncio.CancelledError, GeneratorExit, BaseException]
)
async def test_a_backoff_that_fails_is_replaced_and_the_task_goes_on(
    place: Place, caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    Unsteady.errors = [ValueError("no")]

    def broken(crash: int) -> float:
        if Unsteady.errors:  # not yet when the policy is made
            return 0
        raise error(crash)

    async with place.runtime(pool={"restart": Restart(3, backoff=broken)}) as runtime:
        task = await runtime.start(Unsteady())
        await next_event(task, "task_crashed")
        place.clock.advance(60)

        assert await task.result() == "at last"
    assert any("backoff of the pool failed" in record.getMessage() for record in caplog.records)


class Large(Actor, name="restarting.Large"):
    """Raises once while it is loaded, when it is told to."""

    fault: ClassVar[type[Exception] | None] = None

    def model_post_init(self, _: object, /) -> None:
        fault, Large.fault = Large.fault, None
        if fault is not None:
            raise fault

    @step
    async def load(self) -> str:
        return "loaded"


async def test_a_task_for_which_there_was_no_memory_to_load_it_is_restarted(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await _loaded_with(runtime, MemoryError)

        assert await task.result() == "loaded"
        assert (await kinds(task)).count("task_crashed") == 1


async def test_a_task_that_recurs_without_end_while_it_is_loaded_is_paused(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await _loaded_with(runtime, RecursionError)

        with pytest.raises(TaskPaused, match="state_unreadable"):
            await task.result()


async def _loaded_with(runtime: Runtime, fault: type[Exception]) -> Task[Any]:
    """A task whose load meets a fault."""
    large = Large()
    Large.fault = fault
    return await runtime.start(large)
