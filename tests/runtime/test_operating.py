"""What an operator does to a task holds at once, and is an event with who and why."""

import asyncio
from typing import ClassVar

import pytest

from everstep import (
    Actor,
    BadCall,
    Done,
    EffectRecord,
    NotDone,
    Restart,
    Retry,
    Status,
    Task,
    TaskFailed,
    TaskPaused,
    step,
)
from tests.runtime.kit import Gate, Place, Plain, Unsteady, Waiting, kinds, next_event


class Paying(Actor, name="operating.Paying"):
    """An effect that is called once and answers with an error of which nothing is known."""

    calls: ClassVar[list[str]] = []
    fails: ClassVar[bool] = True

    @step(retry=Retry(max_attempts=3))
    async def pay(self) -> int:
        return await self.ctx.once("pay", self._charge, 7)

    async def run(self) -> int:
        return await self.pay()

    @staticmethod
    async def _charge(amount: int) -> int:
        Paying.calls.append(f"charge {amount}")
        if Paying.fails:
            raise RuntimeError("connection lost")
        return amount


class PayingBeside(Paying, name="operating.PayingBeside"):
    """Pays while another step stops at the gate."""

    gate: ClassVar[Gate] = Gate()

    @step
    async def wait(self) -> None:
        await self.gate.stop_at("beside")

    async def run(self) -> int:
        waiting = asyncio.ensure_future(self.wait())
        await self.gate.until("beside")
        paid = await self.pay()
        await waiting
        return paid


class Twice(Actor, name="operating.Twice"):
    """Fails in its step until it is mended."""

    broken: ClassVar[bool] = True
    executed: ClassVar[list[str]] = []

    @step
    async def good(self) -> None:
        self.executed.append("good")

    @step(retry=Retry(max_attempts=1))
    async def bad(self) -> str:
        self.executed.append("bad")
        if Twice.broken:
            raise ValueError("broken")
        return "mended"

    async def run(self) -> str:
        await self.good()
        return await self.bad()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    Paying.calls, Paying.fails = [], True
    Twice.broken, Twice.executed = True, []


async def test_cancel_is_durable_before_it_returns_and_cuts_what_runs(
    place: Place, gate: Gate
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Waiting(name="a"), id="a")
        await gate.until("a")

        assert await task.cancel(by="ann", why="obsolete")
        place.die()

    async with place.runtime() as runtime:
        info = await runtime.task("a").status()
        event = await next_event(runtime.task("a"), "task_cancelled")

    assert (info.status, info.deaths) == (Status.CANCELLED, 0)
    assert event.data == {"from": "running", "by": "ann", "why": "obsolete"}


async def test_a_cancelled_task_takes_nothing_of_what_still_ran(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Waiting(name="a"))
        await gate.until("a")
        gate.open("a")  # its step ends in the same turn

        cancelled = await task.cancel()

        log = await kinds(task)
        assert cancelled
        assert log[-1] == "task_cancelled"
        assert "task_succeeded" not in log


async def test_queued_and_paused_tasks_are_cancelled_too(place: Place, gate: Gate) -> None:
    Unsteady.errors = [ValueError("no")]
    pool = {"max_running": 1, "restart": Restart(0, on_give_up="pause")}
    async with place.runtime(pool=pool) as runtime:
        paused = await runtime.start(Unsteady())
        await next_event(paused, "task_paused")
        await runtime.start(Waiting(name="a"))
        await gate.until("a")
        queued = await runtime.start(Plain())

        for task in (paused, queued):
            assert await task.cancel()
            assert (await task.status()).status is Status.CANCELLED
        gate.open("a")


async def test_cancelling_what_has_ended_changes_nothing(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Plain())
        await task.result()

        assert not await task.cancel()
        assert (await kinds(task))[-1] == "task_succeeded"


async def test_many_cancels_and_resumes_at_once_leave_one_truth(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Waiting(name="a"))
        await gate.until("a")

        done = await asyncio.gather(*(task.cancel() for _ in range(5)))

        assert done.count(True) == 1
        resumed = await asyncio.gather(*(task.resume() for _ in range(5)))
        assert resumed.count(True) == 1
        gate.open("a")
        assert await task.result() == "a"
        assert (await kinds(task)).count("task_cancelled") == 1


async def test_a_resume_gives_fresh_budgets_and_repeats_nothing_finished(place: Place) -> None:
    async with place.runtime(pool={"restart": Restart(1)}) as runtime:
        task = await runtime.start(Twice())
        with pytest.raises(TaskFailed, match="broken"):
            await task.result()
        Twice.broken = False

        assert await task.resume(by="bob", why="mended")

        assert await task.result() == "mended"
        info = await task.status()
        log = [event async for event in task.events()]

    assert Twice.executed == ["good", "bad", "bad", "bad"]
    assert (info.crashes, info.generation, info.error) == (0, 3, None)
    resumed = next(event for event in log if event.kind == "task_resumed")
    assert resumed.data == {"from": "failed", "by": "bob", "why": "mended"}


async def test_resuming_what_is_not_stopped_is_no_and_what_succeeded_is_refused(
    place: Place, gate: Gate
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Waiting(name="a"))
        await gate.until("a")
        assert not await task.resume()
        gate.open("a")
        await task.result()

        with pytest.raises(BadCall, match="has succeeded"):
            await task.resume()


async def unknown(task: Task[int]) -> EffectRecord:
    with pytest.raises(TaskPaused, match="effect_unknown"):
        await task.result()
    (effect,) = await task.effects()
    assert (effect.key, effect.state) == ("pay", "unknown")
    return effect


async def test_an_unknown_effect_that_was_done_is_settled_and_not_called_again(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Paying())
        await unknown(task)

        await task.settle("pay", Done(7), by="ann", why="seen in the bank's list")

        assert await task.result() == 7
        event = await next_event(task, "effect_settled")
        (effect,) = await task.effects()

    assert Paying.calls == ["charge 7"]
    assert (event.data["done"], event.data["by"]) == (True, "ann")
    assert (effect.state, effect.value, effect.decided_by) == ("done", 7, "ann")


async def test_an_unknown_effect_that_was_not_done_is_called_again(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Paying())
        await unknown(task)
        Paying.fails = False

        await task.settle("pay", NotDone())

        assert await task.result() == 7
    assert Paying.calls == ["charge 7", "charge 7"]


async def test_settling_what_is_not_unknown_is_refused(place: Place) -> None:
    Paying.fails = False
    async with place.runtime() as runtime:
        task = await runtime.start(Paying())
        await task.result()

        with pytest.raises(BadCall, match="decided already"):
            await task.settle("pay", NotDone())
        with pytest.raises(BadCall, match="no effect"):
            await task.settle("other", NotDone())
        with pytest.raises(BadCall, match="Done"):
            await task.settle("pay", 7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def test_an_effect_that_is_settled_while_the_task_still_halts_does_not_leave_it_paused(
    place: Place,
) -> None:
    gate = PayingBeside.gate = Gate()
    async with place.runtime(grace=10) as runtime:
        task = await runtime.start(PayingBeside())
        await next_event(task, "effect_unknown")

        await task.settle("pay", Done(7))
        gate.open("beside")

        assert await task.result() == 7
        assert "task_paused" not in await kinds(task)
    assert Paying.calls == ["charge 7"]
