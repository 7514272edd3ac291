"""A step that executes keeps its slot and is charged for deaths, whatever a step below awaits."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from everstep import Actor, Restart, Retry, Status, TaskFailed, step
from tests.runtime.kit import Place, Plain, next_event
from tests.runtime.pools import pool_of

LONG, ATTEMPTS = 600.0, 2
LIVES: dict[str, Any] = {"restart": Restart(0, max_deaths=9)}
SLOW = Retry(max_attempts=9, backoff=lambda _: LONG, jitter="none")


class Nested(Actor, name="nested_backoffs.Nested"):
    """A step of two attempts, below which another always fails and backs off for long."""

    executed: ClassVar[int] = 0

    @step(retry=SLOW)
    async def inner(self) -> None:
        raise ValueError("not yet")

    @step(retry=Retry(max_attempts=ATTEMPTS))
    async def outer(self) -> None:
        Nested.executed += 1
        await self.inner()

    async def run(self) -> None:
        await self.outer()


async def test_a_step_above_one_that_backs_off_keeps_the_slot(place: Place) -> None:
    async with place.runtime(pool={"max_running": 1}) as runtime:
        await next_event(await runtime.start(Nested(), id="nested"), "step_failed")
        waiting = await runtime.start(Plain())

        assert pool_of(runtime).info().running == 1
        assert (await waiting.status()).status is Status.QUEUED
        assert (await runtime.task("nested").status()).due_at is None


async def test_deaths_in_the_backoff_of_a_nested_step_are_charged_to_the_step_above(
    place: Place,
) -> None:
    Nested.executed = seen = 0
    for _ in range(ATTEMPTS):
        async with place.runtime(pool=LIVES) as runtime:
            if not seen:
                await runtime.start(Nested(), id="nested")
            seen = (await next_event(runtime.task("nested"), "step_failed", after=seen)).number
            place.die()
        place.clock.advance(LONG)

    async with place.runtime(pool=LIVES) as runtime:
        with pytest.raises(TaskFailed):
            await runtime.task("nested").result()
    assert Nested.executed == ATTEMPTS
