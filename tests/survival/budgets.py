"""Steps that fail and die, so that what is left of their attempts can be counted."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.backoff import fixed, none
from everstep.actors.failures import StepFailed
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.supervisor.restart import Restart
from everstep.testing import Died, Life, boundary, note
from tests.survival.host import to_end

__all__ = ["backing_off", "failing", "siblings", "succeeds_last"]

_FOUR = Retry(max_attempts=4, backoff=none(), jitter="none")
_HUNDRED_SECONDS = Retry(max_attempts=4, backoff=fixed(100), jitter="none")
_NO_RESTART = Restart(0, max_deaths=50)


class Failing(Actor, name="survival.Failing"):
    """One step, which fails in each attempt but perhaps the last."""

    succeeds_at: int = 0

    @step(retry=_FOUR)
    async def work(self) -> str:
        note("executed")
        boundary(f"in attempt {self.ctx.attempt}")
        await asyncio.sleep(0)
        if self.ctx.attempt != self.succeeds_at:
            raise ValueError(f"attempt {self.ctx.attempt}")
        return "done"


async def failing(life: Life) -> dict[str, Any]:
    ended = await to_end(life, Failing(), restart=_NO_RESTART)
    return {name: ended[name] for name in ("status", "reason", "output")}


async def succeeds_last(life: Life) -> dict[str, Any]:
    return await to_end(life, Failing(succeeds_at=4), restart=_NO_RESTART)


class Siblings(Actor):
    """Steps side by side that all die together, and fail."""

    outcomes: list[str] = []

    async def run(self) -> list[str]:
        await self.before()
        return list(await asyncio.gather(*(self.caught(name) for name in ("a", "b", "c"))))

    async def caught(self, name: str) -> str:
        try:
            return await self.work(name)
        except StepFailed:
            return f"{name} failed"

    @step
    async def before(self) -> None:
        note("executed")

    @step(key="name", retry=_FOUR)
    async def work(self, name: str) -> str:
        note("executed")
        boundary(f"in {name}")
        await asyncio.sleep(0)
        raise ValueError(name)


async def siblings(life: Life) -> dict[str, Any]:
    ended = await to_end(life, Siblings(), restart=_NO_RESTART)
    return {name: ended[name] for name in ("status", "output")}


class BackingOff(Actor):
    """Fails once, and is tried again a hundred seconds later."""

    @step(retry=_HUNDRED_SECONDS)
    async def work(self) -> str:
        if self.ctx.attempt == 1:
            note("failed")
            raise ValueError("once")
        note("tried again")
        return "done"


async def backing_off(life: Life, dies_after: float, down: float, jump: float) -> str:
    """Die so many seconds into the backoff, be down for so many, and find the wall clock moved."""
    if life.number > 1:
        life.clock.advance(down)  # type: ignore[attr-defined]
        life.clock.jump(jump)  # type: ignore[attr-defined]
        note("back", at=life.clock.monotonic())
    else:
        note("begin", at=life.clock.monotonic())
        life.clock.call_later(dies_after, lambda: _pass(life))
    ended = await to_end(life, BackingOff(), restart=_NO_RESTART)
    note("end", at=life.clock.monotonic())
    return str(ended["output"])


def _pass(life: Life) -> None:
    note("dying", at=life.clock.monotonic())
    with contextlib.suppress(Died):  # raised into a timer it would end the loop
        life.boundary("in the backoff")
