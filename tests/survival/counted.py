"""One little scenario for each row of the table of counters; each returns what was counted."""

from __future__ import annotations

import asyncio
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.errors import NotSerializable
from everstep.actors.failures import StepFailed
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.errors import TaskFailed
from everstep.runtime import Runtime
from everstep.supervisor.restart import Restart
from everstep.task import Task
from everstep.testing import Life, boundary, note, noted
from tests.survival.host import living

__all__ = [
    "THREE",
    "Counted",
    "attempt_fails",
    "cancelled_by_an_operator",
    "cancelled_by_its_caller",
    "counted",
    "crash_of_run",
    "dies",
    "does_not_load",
    "gets_on_after_crashes",
    "hopeless_step",
    "lives_long_after_deaths",
    "no_heartbeat",
    "resumed",
    "run_ends_first",
    "running",
    "stopped_in_order",
    "times_out",
    "unknown_class",
]

THREE = Retry(3, backoff=none())


async def counted(task: Task[Any]) -> dict[str, Any]:
    """The counters of a task and its steps, and how it stands."""
    info = await task.status()
    steps = await task.steps()
    return {
        "status": str(info.status),
        "reason": info.reason,
        "crashes": info.crashes,
        "deaths": info.deaths,
        "attempts": {step.identity: step.attempts for step in steps},
        "executions": {step.identity: step.executions for step in steps},
    }


async def _ended(runtime: Runtime, actor: Actor) -> dict[str, Any]:
    task: Task[Any] = await runtime.start(actor, id="task")
    try:
        await task.result()
    except TaskFailed:
        pass
    return await counted(task)


class Counted(Actor, name="survival.Counted"):
    """Steps that end in each way; `run` says which are called."""

    calls: list[str] = []

    async def run(self) -> None:
        for name in self.calls:
            try:
                await getattr(self, name)()
            except StepFailed:
                note("caught", which=name)

    @step(retry=THREE)
    async def fails_twice(self) -> None:
        note("executed")
        if self.ctx.attempt < 3:
            raise ValueError("twice")

    @step(retry=THREE, timeout=10)
    async def slow_once(self) -> None:
        if self.ctx.attempt == 1:
            await asyncio.get_running_loop().create_future()

    @step(retry=THREE, heartbeat=10)
    async def silent_once(self) -> None:
        if self.ctx.attempt == 1:
            await asyncio.get_running_loop().create_future()

    @step(retry=THREE)
    async def hopeless(self) -> object:
        note("executed")
        return object()

    @step(retry=THREE)
    async def always_fails(self) -> None:
        note("executed")
        raise ValueError("always")

    @step(retry=THREE)
    async def works(self) -> None:
        note("executed")
        boundary("working")
        await asyncio.sleep(0)

    @step(retry=THREE)
    async def endless(self) -> None:
        note("executed")
        await asyncio.get_running_loop().create_future()


async def attempt_fails(life: Life) -> dict[str, Any]:
    async with living(life) as runtime:
        return await _ended(runtime, Counted(calls=["fails_twice"]))


async def times_out(life: Life) -> dict[str, Any]:
    async with living(life) as runtime:
        return await _ended(runtime, Counted(calls=["slow_once"]))


async def no_heartbeat(life: Life) -> dict[str, Any]:
    async with living(life) as runtime:
        return await _ended(runtime, Counted(calls=["silent_once"]))


class Hopeless(Counted):
    async def run(self) -> None:
        await self.hopeless()


async def hopeless_step(life: Life, caught: bool) -> dict[str, Any]:
    actor = Counted(calls=["hopeless", "works"]) if caught else Hopeless()
    async with living(life) as runtime:
        return await _ended(runtime, actor)


class Crashes(Counted):
    """One failure is caught and remembered, the other leaves `run`, so many times."""

    times: int

    async def run(self) -> None:
        try:
            await self.always_fails()
        except StepFailed:
            await self.works()
        if len(noted("crash")) < self.times:
            note("crash")
            await self.always_fails()


async def crash_of_run(life: Life, times: int) -> dict[str, Any]:
    async with living(life, restart=Restart(2)) as runtime:
        return await _ended(runtime, Crashes(times=times))


class EndsFirst(Counted):
    _left: asyncio.Task[None] | None = None

    async def run(self) -> None:
        self._left = asyncio.create_task(self.endless())
        await self.works()


async def run_ends_first(life: Life) -> dict[str, Any]:
    async with living(life) as runtime:
        return await _ended(runtime, EndsFirst())


class Caller(Counted):
    async def run(self) -> None:
        task = asyncio.create_task(self.endless())
        await self.works()
        task.cancel()
        await asyncio.wait([task])


async def cancelled_by_its_caller(life: Life) -> dict[str, Any]:
    async with living(life) as runtime:
        return await _ended(runtime, Caller())


async def dies(life: Life) -> dict[str, Any]:
    """To be killed at the boundary `working`."""
    async with living(life) as runtime:
        return await _ended(runtime, Counted(calls=["works"]))


async def stopped_in_order(life: Life) -> dict[str, Any]:
    """A step is cut by the stop of a runtime, and the task is looked at by the next one."""
    actor = Counted(calls=["works", "endless"])
    async with living(life) as runtime:
        await running(await runtime.start(actor, id="task"), "endless")
    async with living(life) as runtime:
        task = runtime.task("task")
        await running(task, "endless")
        return await counted(task)


async def cancelled_by_an_operator(life: Life) -> dict[str, Any]:
    async with living(life) as runtime:
        task = await runtime.start(Counted(calls=["works", "endless"]), id="task")
        await running(task, "endless")
        await task.cancel(by="me")
        return await counted(task)


async def running(task: Task[Any], name: str) -> None:
    """Return when an attempt of the step has begun, after what is in the log so far."""
    claimed = 0
    async for event in task.events(follow=True):
        claimed = event.number if event.kind == "task_claimed" else claimed
        if event.kind == "step_started" and event.step == name and not await _released(task):
            return


async def _released(task: Task[Any]) -> bool:
    return not (await task.status()).steps_running


class Loads(Actor, name="loads"):
    number: int = 1

    @step
    async def works(self) -> None:
        note("executed")
        boundary("working")


class LoadsNoMore(Actor, name="loads"):
    number: dict[str, int] = {}

    @step
    async def works(self) -> None:
        note("executed")


async def does_not_load(life: Life) -> dict[str, Any]:
    """To be killed at the boundary `working`; the next life has another class."""
    async with living(life) as runtime:
        if life.number == 1:
            return await _ended(runtime, Loads())
        task = runtime.task("task", LoadsNoMore)
        async for event in task.events(follow=True):
            if event.kind == "task_paused":
                break
        return await counted(task)


async def unknown_class(life: Life) -> dict[str, Any]:
    """To be killed at the boundary `working`; the next life knows no class at all."""
    if life.number == 1:
        async with living(life) as runtime:
            return await _ended(runtime, Loads())
    async with Runtime(
        life.path, store=life.store(), clock=life.clock, actors=[Counted]
    ) as runtime:
        await life.clock.sleep(3600)
        return await counted(runtime.task("task"))


async def gets_on_after_crashes(
    life: Life, first: float, then: float, checkpoint: bool
) -> dict[str, Any]:
    """Crash once after so many seconds, run for so many more, reach a checkpoint or none."""

    class GetsOn(Counted):
        async def run(self) -> None:
            if not noted("crash"):
                await life.clock.sleep(first)
                note("crash")
                raise RuntimeError("once")
            await life.clock.sleep(then)
            if checkpoint:
                await self.works()
            await self.endless()

    async with living(life, restart=Restart(3, reset_after=100)) as runtime:
        task = await runtime.start(GetsOn(), id="task")
        await running(task, "endless")
        return await counted(task)


async def lives_long_after_deaths(life: Life, seconds: float) -> dict[str, Any]:
    """To be killed at the boundary `working`; the next life lasts for so many seconds."""

    class LivesLong(Counted):
        async def run(self) -> None:
            if life.number == 1:
                await self.works()
            else:
                await self.endless()

    async with living(life, restart=Restart(3, reset_after=100)) as runtime:
        task = await runtime.start(LivesLong(), id="task")
        if life.number == 1:
            await task.result()
        await running(task, "endless")
        await life.clock.sleep(seconds)
        return await counted(task)


class Resumed(Counted):
    """A failure that is remembered, one attempt used up of a step without outcome, a crash."""

    async def run(self) -> None:
        try:
            await self.always_fails()
        except StepFailed:
            await self.works()
        if not noted("resumed"):
            raise NotSerializable("the test", "int", "is to fail for good")


async def resumed(life: Life) -> dict[str, Any]:
    async with living(life) as runtime:
        first = await _ended(runtime, Resumed())
        note("resumed")
        task = runtime.task("task")
        await task.resume(by="me", why="mended")
        await task.result()
        return {"before": first, "after": await counted(task)}
