"""A question that nobody answers is called to mind: durably, once for each time it is due."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from everstep import Actor, BadCall, Event, Question, Runtime, Status, Task, TaskFailed, step
from everstep.testing import ManualClock
from tests.runtime.kit import Gate, Place, kinds, next_event, until

HOUR = 3600.0
WEEK = 7 * 24 * HOUR


class Asker(Actor, name="reminders.Asker"):
    timeout: float | None = None
    nap: float | None = None

    begun: ClassVar[int] = 0

    async def run(self) -> str:
        Asker.begun += 1
        asking = self.ctx.ask_human("Well?", schema=bool, timeout=self.timeout, remind=HOUR)
        if self.nap is None:
            return str(await asking)
        answer, _ = await asyncio.gather(asking, self.ctx.sleep(self.nap))
        return str(answer)


class Busy(Actor, name="reminders.Busy"):
    """Asks while a step of it runs."""

    gate: ClassVar[Gate] = Gate()

    @step
    async def work(self) -> None:
        await self.gate.stop_at("work")

    async def run(self) -> str:
        asking = self.ctx.ask_human("Well?", schema=bool, remind=timedelta(hours=1))
        answer, _ = await asyncio.gather(asking, self.work())
        return str(answer)


@pytest.fixture(autouse=True)
def _nothing_begun() -> None:
    Asker.begun = 0
    Busy.gate = Gate()


async def asked(runtime: Runtime) -> Question:
    (question,) = await runtime.inbox()
    return question


async def waiting(task: Task[Any]) -> None:
    await until(task, lambda info: info.status is Status.WAITING)


async def reminders(task: Task[Any]) -> list[Event]:
    return [event async for event in task.events() if event.kind == "wait_reminded"]


async def reminded(task: Task[Any], count: int) -> None:
    """Return when the log tells of so many reminders."""
    async for event in task.events(follow=True):
        if event.kind == "wait_reminded" and event.data["reminders"] == count:
            return


async def test_a_question_is_called_to_mind_in_memory_until_it_is_answered(place: Place) -> None:
    async with place.runtime(idle_after=WEEK) as runtime:
        task = await runtime.start(Asker())
        await waiting(task)
        first = await asked(runtime)
        assert (first.reminders, first.reminded_at) == (0, None)
        for count in (1, 2):
            place.clock.advance(HOUR)
            await reminded(task, count)
            question = await asked(runtime)
            assert question.reminders == count
            assert question.reminded_at is not None
            assert question.reminded_at.timestamp() == place.clock.now()

        await task.answer(first.id, True)
        assert await task.result() == "True"
        assert [event.data["for"] for event in await reminders(task)] == ["Well?", "Well?"]
    assert Asker.begun == 1


async def test_a_task_out_of_memory_stays_there_while_its_question_is_called_to_mind(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Asker())
        await waiting(task)
        place.clock.advance(10)
        await next_event(task, "task_suspended")
        for count in (1, 2, 3):
            place.clock.advance(HOUR)
            await reminded(task, count)

        assert Asker.begun == 1
        assert "task_woken" not in await kinds(task)
        assert (await asked(runtime)).reminders == 3
        await task.answer((await asked(runtime)).id, False)
        assert await task.result() == "False"
    assert Asker.begun == 2


@pytest.mark.parametrize("out_of_memory", [False, True])
async def test_a_week_of_downtime_gives_one_reminder_and_the_next_a_period_later(
    place: Place, out_of_memory: bool
) -> None:
    async with place.runtime(idle_after=10 if out_of_memory else WEEK) as runtime:
        task = await runtime.start(Asker(), id="a")
        await waiting(task)
        if out_of_memory:
            place.clock.advance(10)
            await next_event(task, "task_suspended")
    place.clock.advance(WEEK)

    async with place.runtime() as runtime:
        task = runtime.task("a")
        await reminded(task, 1)
        place.clock.advance(HOUR - 1)
        await waiting(task)
        assert len(await reminders(task)) == 1
        place.clock.advance(1)
        await reminded(task, 2)


async def test_a_reminder_that_was_given_is_not_given_again_after_a_restart(place: Place) -> None:
    for _ in range(3):
        async with place.runtime() as runtime:
            task = await runtime.start(Asker(), id="a")
            await waiting(task)
            await asked(runtime)
            if not await reminders(task):
                place.clock.advance(HOUR)
                await reminded(task, 1)
    async with place.runtime() as runtime:
        task = runtime.task("a")
        await waiting(task)
        assert len(await reminders(task)) == 1
        place.clock.advance(HOUR)
        await reminded(task, 2)


async def test_a_question_whose_time_is_over_is_not_called_to_mind(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Asker(timeout=HOUR))
        await waiting(task)
        place.clock.advance(10)
        await next_event(task, "task_suspended")
        place.clock.advance(HOUR)

        with pytest.raises(TaskFailed, match="not answered within its timeout"):
            await task.result()
        assert await reminders(task) == []


async def test_reminders_and_other_waits_of_a_task_out_of_memory_keep_their_times(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Asker(nap=1.5 * HOUR))
        await waiting(task)
        place.clock.advance(10)
        await next_event(task, "task_suspended")
        place.clock.advance(HOUR)
        await reminded(task, 1)
        assert Asker.begun == 1
        place.clock.advance(HOUR / 2)
        woken = await next_event(task, "task_woken")
        ended = await next_event(task, "wait_ended", after=woken.number)
        assert (Asker.begun, ended.step) == (2, "ctx.sleep")
        place.clock.advance(HOUR / 2)
        await reminded(task, 2)

        await task.answer((await asked(runtime)).id, True)
        assert await task.result() == "True"


async def test_a_question_is_called_to_mind_while_a_step_runs_beside_it(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Busy())
        await Busy.gate.until("work")
        await next_event(task, "wait_started")
        place.clock.advance(HOUR)
        await reminded(task, 1)
        assert (await task.status()).status is Status.RUNNING
        Busy.gate.open("work")
        await task.answer((await asked(runtime)).id, True)

        assert await task.result() == "True"


async def test_a_reboot_with_the_wall_clock_set_back_loses_no_reminder(tmp_path: Path) -> None:
    clock = ManualClock(boot="one")
    async with Runtime(tmp_path / "tasks.db", clock=clock) as runtime:
        task = await runtime.start(Asker(), id="a")
        await waiting(task)
        clock.advance(10)
        await next_event(task, "task_suspended")

    clock = ManualClock(clock.now() - WEEK, boot="two")
    async with Runtime(tmp_path / "tasks.db", clock=clock) as runtime:
        task = runtime.task("a")
        clock.advance(HOUR)
        woken = await next_event(task, "task_woken")
        await next_event(task, "task_waiting", after=woken.number)
        clock.advance(HOUR)
        await reminded(task, 1)


@pytest.mark.parametrize("remind", [0, -1, float("inf"), True, "daily"])
async def test_a_period_of_no_seconds_is_refused(place: Place, remind: Any) -> None:
    class Odd(Actor, name="reminders.Odd"):
        async def run(self) -> None:
            await self.ctx.ask_human("Well?", schema=bool, remind=remind)

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match=BadCall.__name__):
            await (await runtime.start(Odd())).result()
