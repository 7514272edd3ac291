"""`ctx.sleep` and `ctx.sleep_until`: waits that outlast the process and cost no memory."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest

from everstep import Actor, Event, Restart, Status, Task, TaskFailed, fixed, step
from tests.runtime.kit import Place, Plain, kinds, next_event, until


class Nap(Actor, name="waits.Nap"):
    """Sleeps between two steps."""

    seconds: float

    begun: ClassVar[int] = 0

    @step
    async def before(self) -> None: ...

    @step
    async def after(self) -> str:
        return "awake"

    async def run(self) -> str:
        Nap.begun += 1
        await self.before()
        await self.ctx.sleep(self.seconds)
        return await self.after()


class Naps(Actor, name="waits.Naps"):
    """Sleeps twice at once."""

    short: float
    long: float

    async def run(self) -> None:
        naps = (self.ctx.sleep(self.short, key="short"), self.ctx.sleep(self.long, key="long"))
        await asyncio.gather(*naps)


class Alarm(Actor, name="waits.Alarm"):
    at: datetime

    async def run(self) -> str:
        await self.ctx.sleep_until(self.at)
        return "awake"


@pytest.fixture(autouse=True)
def _nothing_begun() -> None:
    Nap.begun = 0


async def waiting(task: Task[Any]) -> None:
    await until(task, lambda info: info.status is Status.WAITING)


@pytest.mark.parametrize(("seconds", "shown"), [(25 * 86_400, "2160000 s"), (0.5, "0.5 s")])
async def test_a_sleep_is_shown_in_seconds_without_an_exponent(
    place: Place, seconds: float, shown: str
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Nap(seconds=seconds))
        assert (await next_event(task, "wait_started")).data["for"] == shown


async def test_a_sleep_ends_when_its_time_is_over_and_not_before(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Nap(seconds=5))
        await waiting(task)
        place.clock.advance(4.9)
        assert (await task.status()).status is Status.WAITING
        place.clock.advance(0.2)

        assert await task.result() == "awake"
    assert Nap.begun == 1


async def test_a_long_sleep_leaves_memory_at_once_and_comes_back_when_it_is_due(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Nap(seconds=3600))
        await next_event(task, "task_suspended")
        info = await task.status()
        assert info.status is Status.WAITING
        assert info.due_at is not None
        assert info.due_at.timestamp() == place.clock.now() + 3600
        place.clock.advance(3599)
        assert (await task.status()).status is Status.WAITING
        place.clock.advance(2)

        assert await task.result() == "awake"
    assert Nap.begun == 2


async def test_what_is_left_of_a_sleep_is_waited_after_a_restart(place: Place) -> None:
    async with place.runtime() as runtime:
        await next_event(await runtime.start(Nap(seconds=100), id="n"), "task_suspended")
    place.clock.advance(60)
    place.clock.jump(-100_000)

    async with place.runtime() as runtime:
        await (await runtime.start(Plain())).result()
        place.clock.advance(30)
        assert (await runtime.task("n").status()).status is Status.WAITING
        place.clock.advance(11)

        assert await runtime.task("n").result() == "awake"


async def test_a_sleep_that_fell_due_while_nobody_was_there_is_over_at_once(place: Place) -> None:
    async with place.runtime() as runtime:
        await next_event(await runtime.start(Nap(seconds=100), id="n"), "task_suspended")
    place.clock.advance(7 * 24 * 3600)

    async with place.runtime() as runtime:
        assert await runtime.task("n").result() == "awake"


async def test_a_task_that_waits_in_memory_is_not_charged_a_death_and_goes_on(
    place: Place,
) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Nap(seconds=5), id="n")
        await waiting(task)
        place.die()

    async with place.runtime() as runtime:
        task = runtime.task("n")
        await until(task, lambda info: info.incarnation == 2)
        await waiting(task)
        place.clock.advance(5)
        assert await task.result() == "awake"
        assert (await task.status()).deaths == 0
    assert "task_died" not in await kinds_of(place, "n")


async def kinds_of(place: Place, task_id: str) -> list[str]:
    async with place.runtime() as runtime:
        return await kinds(runtime.task(task_id))


async def test_an_orderly_stop_leaves_a_waiting_task_waiting(place: Place) -> None:
    async with place.runtime() as runtime:
        await waiting(await runtime.start(Nap(seconds=5), id="n"))

    async with place.runtime() as runtime:
        await (await runtime.start(Plain())).result()
        info = await runtime.task("n").status()
        assert (info.status, info.incarnation) == (Status.WAITING, 1)
        place.clock.advance(5)

        assert await runtime.task("n").result() == "awake"


async def test_a_task_that_waits_holds_no_slot(place: Place) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        task = await runtime.start(Nap(seconds=5))
        await waiting(task)

        assert await (await runtime.start(Plain())).result() == "refunds: 2"
        place.clock.advance(5)
        assert await task.result() == "awake"


async def test_a_task_of_which_one_wait_is_over_and_another_is_not_rests_again(
    place: Place,
) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        task = await runtime.start(Naps(short=1, long=100))
        await waiting(task)
        place.clock.advance(1)
        await next_event(task, "wait_ended")

        assert await (await runtime.start(Plain())).result() == "refunds: 2"
        assert (await task.status()).status is Status.WAITING
        place.clock.advance(10)
        await next_event(task, "task_suspended")
        place.clock.advance(89)
        await task.result()
        assert (await task.status()).deaths == 0


class Racing(Actor, name="waits.Racing"):
    """One wait is given up, beside another that goes on."""

    async def run(self) -> None:
        await asyncio.gather(self.gives_up(), self.ctx.sleep(100, key="long"))

    async def gives_up(self) -> None:
        sleeping = asyncio.create_task(self.ctx.sleep(50, key="lost"))
        await self.ctx.sleep(1, key="short")
        sleeping.cancel()


async def test_a_task_of_which_one_wait_was_given_up_rests_again(place: Place) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        task = await runtime.start(Racing())
        await waiting(task)
        place.clock.advance(1)
        await next_event(task, "wait_cancelled")

        assert await (await runtime.start(Plain())).result() == "refunds: 2"
        assert (await task.status()).status is Status.WAITING


async def test_a_task_whose_wait_ends_while_all_slots_are_taken_waits_for_one(
    place: Place,
) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        first = await runtime.start(Nap(seconds=5))
        await waiting(first)
        second = await runtime.start(Nap(seconds=0))
        place.clock.advance(5)

        assert [await first.result(), await second.result()] == ["awake", "awake"]


async def test_a_sleep_is_recorded_and_a_restart_does_not_wait_again(place: Place) -> None:
    crashes = [RuntimeError("after the sleep")]

    class Twice(Actor, name="waits.Twice"):
        async def run(self) -> str:
            await self.ctx.sleep(timedelta(seconds=5))
            if crashes:
                raise crashes.pop()
            return "awake"

    async with place.runtime() as runtime:
        task = await runtime.start(Twice())
        await waiting(task)
        place.clock.advance(5)

        assert await task.result() == "awake"
        assert (await kinds(task)).count("wait_started") == 1


async def test_sleep_until_ends_at_its_instant_wherever_the_clock_is_set(place: Place) -> None:
    at = datetime.fromtimestamp(place.clock.now() + 3600, UTC)
    async with place.runtime() as runtime:
        task = await runtime.start(Alarm(at=at))
        await next_event(task, "task_suspended")
        place.clock.jump(-600)
        place.clock.advance(3700)
        await (await runtime.start(Plain())).result()
        assert (await task.status()).status is Status.WAITING
        place.clock.jump(+600)
        place.clock.advance(30)

        assert await task.result() == "awake"


async def test_sleep_until_a_past_instant_is_over_at_once(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Alarm(at=datetime(2001, 1, 1, tzinfo=UTC)))

        assert await task.result() == "awake"


async def test_a_wait_in_a_step_is_refused_with_the_step_split(place: Place) -> None:
    class Impatient(Actor, name="waits.Impatient"):
        @step
        async def remind(self) -> None:
            await self.ctx.sleep(5)

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match="never_retried") as caught:
            await (await runtime.start(Impatient())).result()

    assert "await self.remind_before()" in str(caught.value)
    assert caught.value.attempts == 1


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), True, "5"])
async def test_no_number_of_seconds_is_refused(place: Place, seconds: Any) -> None:
    class Odd(Actor, name="waits.Odd"):
        async def run(self) -> None:
            await self.ctx.sleep(seconds)

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match="is not a number of seconds"):
            await (await runtime.start(Odd())).result()


async def test_an_instant_without_a_time_zone_is_refused(place: Place) -> None:
    class Naive(Actor, name="waits.Naive"):
        async def run(self) -> None:
            await self.ctx.sleep_until(datetime(2031, 5, 1))

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match="names no time zone"):
            await (await runtime.start(Naive())).result()


async def test_a_cancel_of_a_waiting_task_ends_it_in_and_out_of_memory(place: Place) -> None:
    async with place.runtime() as runtime:
        short, long = await runtime.start(Nap(seconds=5)), await runtime.start(Nap(seconds=5000))
        await waiting(short)
        await next_event(long, "task_suspended")

        assert await short.cancel()
        assert await long.cancel()
        place.clock.advance(10_000)
        assert (await short.status()).status is Status.CANCELLED
        assert (await long.status()).status is Status.CANCELLED


async def test_a_sleep_that_lost_a_race_is_begun_anew_by_a_replay(place: Place) -> None:
    """So what won in the first life wins in every other."""
    crashes = [RuntimeError("after the race")]

    class Race(Actor, name="waits.Race"):
        @step
        async def work(self) -> str:
            return "worked"

        async def run(self) -> str:
            nap = asyncio.create_task(self.ctx.sleep(5))
            work = asyncio.create_task(self.work())
            done, _ = await asyncio.wait({nap, work}, return_when=asyncio.FIRST_COMPLETED)
            nap.cancel()
            await asyncio.wait({nap})
            if crashes:
                raise crashes.pop()
            return str(nap in done)

    async with place.runtime(pool={"restart": Restart(3, backoff=fixed(60))}) as runtime:
        task = await runtime.start(Race())
        await next_event(task, "task_crashed")
        place.clock.advance(60)

        assert await task.result() == "False"
        assert "wait_cancelled" in await kinds(task)


async def test_sleeps_of_two_asyncio_tasks_at_once_need_keys(place: Place) -> None:
    class Two(Actor, name="waits.Two"):
        async def nap(self) -> None:
            await self.ctx.sleep(1)

        async def run(self) -> None:
            await asyncio.gather(self.nap(), self.nap())

    async with place.runtime() as runtime:
        with pytest.raises(TaskFailed, match=r"ctx\.sleep\(…, key=…\)"):
            await (await runtime.start(Two())).result()


async def test_a_task_that_is_resumed_goes_on_with_the_sleep_it_was_in(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Nap(seconds=100))
        await next_event(task, "task_suspended")
        place.clock.advance(60)
        assert await task.cancel()
        assert await task.resume()
        await next_event(task, "task_suspended", after=(await last(task)).number - 1)
        place.clock.advance(40)

        assert await task.result() == "awake"


async def last(task: Task[Any]) -> Event:
    """The newest event once the task waits out of memory again."""
    await until(task, lambda info: info.incarnation == 2 and info.status is Status.WAITING)
    return [event async for event in task.events()][-1]


async def test_more_tasks_than_may_run_wait_and_wake_when_they_are_due(place: Place) -> None:
    async with place.runtime(pool={"max_running": 50}) as runtime:
        tasks = [await runtime.start(Nap(seconds=100 + n)) for n in range(200)]
        for task in tasks:
            await until(task, lambda info: info.status is Status.WAITING)
        assert await (await runtime.start(Plain())).result() == "refunds: 2"
        place.clock.advance(1200)

        assert {await task.result() for task in tasks} == {"awake"}
