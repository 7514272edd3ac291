"""What ends an attempt from outside: time limits, callers, stops; and what that leaves."""

from __future__ import annotations

import asyncio
import threading

import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import fixed, none
from everstep.actors.exits import Crashed, Released, Succeeded
from everstep.actors.failures import StepFailed
from everstep.actors.log import Log
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.storage import Status
from tests.actors.driver import Driver, driving

ONCE = Retry(max_attempts=1)
SOON = Retry(max_attempts=3, backoff=none())


async def test_an_attempt_that_runs_too_long_fails_and_is_tried_again() -> None:
    began = asyncio.Semaphore(0)
    cleaned: list[int] = []

    class Slow(Actor, name="time.slow"):
        @step(retry=SOON, timeout=60)
        async def work(self) -> int:
            if self.ctx.attempt == 3:
                return 3
            began.release()
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.append(self.ctx.attempt)
            return 0

    async with driving() as driver:
        ledger = await driver.create(Slow())
        life = asyncio.create_task(driver.live(ledger, Slow))
        for _ in range(2):
            await began.acquire()
            driver.clock.advance(60)
        assert await life == Succeeded()
        assert await driver.result(ledger, Slow) == 3
        assert cleaned == [1, 2]


async def test_code_that_swallows_its_cancellation_is_never_resumed_again() -> None:
    began = asyncio.Semaphore(0)
    resumed: list[str] = []

    class Stubborn(Actor, name="time.stubborn"):
        @step(retry=ONCE, timeout=60)
        async def work(self) -> None:
            while True:
                try:
                    began.release()
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    resumed.append("cancelled")

    async with driving() as driver:
        ledger = await driver.create(Stubborn())
        life = asyncio.create_task(driver.live(ledger, Stubborn))
        await began.acquire()
        driver.clock.advance(60)
        await began.acquire()
        driver.clock.advance(1)
        ended = await life
        assert isinstance(ended, Crashed)
        assert "timeout=60" in ended.failure.message
        assert resumed == ["cancelled"]
        assert len(driver.environment.severed) == 1


async def test_a_heartbeat_keeps_an_attempt_alive_and_its_silence_ends_it() -> None:
    go = asyncio.Semaphore(0)
    beaten = asyncio.Semaphore(0)

    class Beating(Actor, name="time.beating"):
        @step(retry=ONCE, heartbeat=10)
        async def work(self) -> None:
            for _ in range(3):
                self.ctx.heartbeat()
                beaten.release()
                await go.acquire()
            beaten.release()
            await asyncio.Event().wait()

    async with driving() as driver:
        ledger = await driver.create(Beating())
        life = asyncio.create_task(driver.live(ledger, Beating))
        for _ in range(3):
            await beaten.acquire()
            await asyncio.sleep(0)
            driver.clock.advance(9)
            go.release()
        await beaten.acquire()
        assert not life.done()
        driver.clock.advance(2)
        ended = await life
        assert isinstance(ended, Crashed)
        assert "heartbeat=10" in ended.failure.message


async def test_what_is_left_of_a_backoff_is_waited_in_the_next_life() -> None:
    tried: list[float] = []

    class Backing(Actor, name="time.backing"):
        @step(retry=Retry(max_attempts=3, backoff=fixed(100), jitter="none"))
        async def work(self) -> None:
            tried.append(clock.monotonic())
            if len(tried) < 2:
                raise ValueError("once")

    async with driving() as driver:
        clock = driver.clock
        ledger = await driver.create(Backing())
        life = driver.life(ledger, Backing)
        living = asyncio.create_task(life.live())
        await clock.until_waiting()
        clock.advance(30)
        assert ledger.progress.due_at is not None
        await life.release(grace=0, cleanup=1)
        assert isinstance(await living, Released)
        clock.jump(-3600)
        next_life = asyncio.create_task(driver.again(ledger, Backing))
        await clock.until_waiting()
        clock.advance(69)
        assert len(tried) == 1
        clock.advance(1.5)
        assert await next_life == Succeeded()
        assert tried[1] - tried[0] == pytest.approx(100, abs=1)


async def test_a_step_cancelled_by_its_caller_leaves_nothing_and_is_called_again() -> None:
    executed: list[str] = []
    crash = [True]

    class Racing(Actor, name="time.racing"):
        note: str = ""

        async def run(self) -> str:
            try:
                async with asyncio.timeout(None) as limit:
                    await self.slow(limit)
            except TimeoutError:
                pass
            await self.after()
            if crash:
                raise RuntimeError(crash.pop())
            return self.note

        @step(retry=ONCE)
        async def slow(self, limit: asyncio.Timeout) -> None:
            executed.append("slow")
            self.note = "slow"
            limit.reschedule(0)
            await asyncio.Event().wait()

        @step(retry=ONCE)
        async def after(self) -> None:
            executed.append("after")
            self.note += "after"

    async with driving() as driver:
        ledger = await driver.create(Racing())
        ended = await driver.live(ledger, Racing)
        assert isinstance(ended, Crashed)
        await driver.crash(ledger, ended)
        assert await driver.again(ledger, Racing) == Succeeded()
        assert executed == ["slow", "after", "slow"]
        assert await driver.result(ledger, Racing) == "after"
        rows = {row.name: row for _, row in await driver.store.steps(ledger.row.key)}
        assert (rows["slow"].attempts, rows["slow"].open, rows["slow"].outcome) == (0, 0, None)


async def test_a_cancellation_that_nobody_asked_for_is_a_failure() -> None:
    class Odd(Actor, name="time.odd"):
        @step(retry=SOON)
        async def work(self) -> int:
            if self.ctx.attempt < 3:
                raise asyncio.CancelledError
            return self.ctx.attempt

    async with driving() as driver:
        ledger = await driver.create(Odd())
        assert await driver.live(ledger, Odd) == Succeeded()
        assert await driver.result(ledger, Odd) == 3


async def test_a_stop_lets_steps_reach_their_checkpoint_and_cuts_the_others_uncharged() -> None:
    began = asyncio.Semaphore(0)
    go = asyncio.Event()

    class Two(Actor, name="time.two"):
        done: list[str] = []

        async def run(self) -> None:
            await asyncio.gather(self.quick(), self.slow())

        @step
        async def quick(self) -> None:
            began.release()
            await go.wait()
            self.done.append("quick")

        @step
        async def slow(self) -> None:
            began.release()
            await asyncio.Event().wait()

    async with driving() as driver:
        ledger = await driver.create(Two())
        life = driver.life(ledger, Two)
        living = asyncio.create_task(life.live())
        await began.acquire()
        await began.acquire()
        stopping = asyncio.create_task(life.release(grace=10, cleanup=1))
        await asyncio.sleep(0)
        go.set()
        await driver.clock.until_waiting()
        while any(one.identity == "quick" for one in life.journal.traffic.attempts):
            await asyncio.sleep(0)
        driver.clock.advance(10)
        await stopping
        assert isinstance(await living, Released)
        await ledger.durable()
        rows = {row.name: row for _, row in await driver.store.steps(ledger.row.key)}
        assert rows["quick"].outcome == "completed"
        assert (rows["slow"].attempts, rows["slow"].open, rows["slow"].outcome) == (0, 0, None)
        assert "step_cut slow" in await driver.kinds(ledger)


async def test_a_life_whose_code_swallows_everything_still_ends() -> None:
    began = asyncio.Event()

    class Deaf(Actor, name="time.deaf"):
        async def run(self) -> None:
            while True:
                try:
                    began.set()
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    pass

    async with driving() as driver:
        ledger = await driver.create(Deaf())
        life = driver.life(ledger, Deaf)
        living = asyncio.create_task(life.live())
        await began.wait()
        stopping = asyncio.create_task(life.release(grace=0, cleanup=1))
        await driver.clock.until_waiting()
        driver.clock.advance(1)
        ended = await living
        assert ended == Released(severed=True)
        await stopping


async def test_a_plain_def_step_runs_in_a_thread_and_blocks_nobody() -> None:
    class Plain(Actor, name="time.plain"):
        where: str = ""

        @step
        def work(self) -> int:
            self.where = threading.current_thread().name
            return self.ctx.attempt

    async with driving() as driver:
        ledger = await driver.create(Plain())
        assert await driver.live(ledger, Plain) == Succeeded()
        state = await driver.state(ledger, Plain)
        assert state.where.startswith("everstep-step")


async def test_a_thread_that_timed_out_and_goes_on_touches_nothing() -> None:
    go = threading.Event()
    late: list[str] = []
    began = threading.Event()
    ended = threading.Event()

    class Threaded(Actor, name="time.threaded"):
        items: list[int] = []
        log: Log[int] = Log()
        count: int = 0

        @step(retry=Retry(max_attempts=2, backoff=none()), timeout=5)
        def work(self) -> str:
            if self.ctx.attempt == 2:
                return "second"
            items, log = self.items, self.log
            began.set()
            go.wait(10)
            items.append(1)
            try:
                log.append(1)
            except Exception as error:
                late.append(type(error).__name__)
            try:
                self.count += 1
            except Exception as error:
                late.append(type(error).__name__)
            ended.set()
            return "first"

    async with driving() as driver:
        ledger = await driver.create(Threaded())
        life = asyncio.create_task(driver.live(ledger, Threaded))
        await asyncio.to_thread(began.wait, 10)
        driver.clock.advance(5)
        assert await life == Succeeded()
        go.set()
        await asyncio.to_thread(ended.wait, 10)
        assert await driver.result(ledger, Threaded) == "second"
        state = await driver.state(ledger, Threaded)
        assert (state.items, list(state.log), state.count) == ([], [], 0)
        assert late == ["StaleAttempt"] * 2


async def dies(driver: Driver, actor: type[Actor], task_id: str) -> None:
    """A life that dies inside a step: nothing it would still write is written."""
    ledger = await driver.claimed(task_id, died=True)
    life = driver.life(ledger, actor)
    living = asyncio.create_task(life.live())
    while not life.steps_running and not living.done():
        await asyncio.sleep(0)
    await ledger.durable()
    life.fence()
    living.cancel()
    await asyncio.wait([living])


async def test_a_death_costs_the_open_attempt_and_the_last_one_ends_the_step() -> None:
    class Deadly(Actor, name="time.deadly"):
        async def run(self) -> str:
            try:
                await self.work()
            except StepFailed as failed:
                return str(failed.failure.kind)
            return "never"

        @step(retry=SOON)
        async def work(self) -> None:
            await asyncio.Event().wait()

    async with driving() as driver:
        ledger = await driver.create(Deadly())
        ledger.change(status=Status.RUNNING)
        await ledger.durable()
        for _ in range(3):
            await dies(driver, Deadly, ledger.row.id)
        assert await driver.again(ledger, Deadly, died=True) == Succeeded()
        assert "ProcessDied" in await driver.result(ledger, Deadly)


async def test_a_run_that_cancels_itself_has_crashed() -> None:
    class Selfish(Actor, name="time.selfish"):
        async def run(self) -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)

    async with driving() as driver:
        ended = await driver.run(Selfish())
        assert isinstance(ended, Crashed)
        assert ended.failure.kind.endswith("UnaskedCancellation")


@pytest.mark.parametrize("error", [ZeroDivisionError, asyncio.CancelledError, BaseException])
async def test_a_broken_backoff_costs_a_step_no_attempts(error: type[BaseException]) -> None:
    def broken(attempt: int) -> float:
        raise error(attempt)

    class Odd(Exception):
        @property
        def retry_after(self) -> float:
            raise ZeroDivisionError

    class Broken(Actor, name="time.broken"):
        @step(retry=Retry(max_attempts=2, backoff=broken))
        async def work(self) -> int:
            if self.ctx.attempt < 2:
                raise Odd
            return self.ctx.attempt

    async with driving() as driver:
        ledger = await driver.create(Broken())
        life = asyncio.create_task(driver.live(ledger, Broken))
        await driver.clock.until_waiting()
        driver.clock.advance(1)
        assert await life == Succeeded()
        assert await driver.result(ledger, Broken) == 2
