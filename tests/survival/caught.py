"""Flows that catch what their steps raise, wrap it, lose it, or end steps themselves."""

from __future__ import annotations

import asyncio
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.failures import StepFailed
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note, noted
from tests.survival.host import to_end

__all__ = [
    "bounded_helper",
    "catches",
    "loses_a_race",
    "loses_in_a_group",
    "returns_exceptions",
    "times_out",
    "wraps",
]

_PATIENTLY = Retry(max_attempts=30, backoff=none())
_TWICE = Retry(max_attempts=2, backoff=none(), jitter="none")


async def _ended(life: Life, actor: Actor) -> dict[str, Any]:
    ended = await to_end(life, actor, restart=Restart(3, max_deaths=50))
    return {name: ended[name] for name in ("status", "output")}


class Common(Actor):
    @step(retry=_TWICE)
    async def fragile(self) -> str:
        """Fails until it has been executed four times."""
        note("executed")
        boundary(f"in execution {len(noted('executed', step='fragile'))}")
        if len(noted("executed", step="fragile")) <= 4:
            raise ValueError("fragile")
        return "fragile held"

    @step(retry=_PATIENTLY)
    async def after(self, word: str) -> str:
        note("executed")
        return f"went on with {word}"

    @step(retry=_PATIENTLY)
    async def never(self) -> None:
        note("executed")
        await asyncio.get_running_loop().create_future()


class Catches(Common):
    async def run(self) -> str:
        try:
            word = await self.fragile()
        except StepFailed as error:
            word = f"{error.step}, {error.attempts}, {error.is_a(ValueError)}"
        return await self.after(word)


class Wraps(Common):
    async def run(self) -> str:
        try:
            return await self.fragile()
        except StepFailed as error:
            raise RuntimeError("wrapped") from error


class LosesInAGroup(Common):
    async def run(self) -> str:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.fragile())
        return task.result()


class ReturnsExceptions(Common):
    async def run(self) -> str:
        failed, word = await asyncio.gather(
            self.fragile(), self.after("both"), return_exceptions=True
        )
        assert isinstance(failed, StepFailed)
        return f"{failed.attempts} {word} {await self.after('the end')}"


class TimesOut(Common):
    async def run(self) -> str:
        try:
            async with asyncio.timeout(0.001):
                await self.never()
        except TimeoutError:
            return await self.after("the timeout")
        return "impossible"


class LosesARace(Common):
    async def run(self) -> str:
        slow = asyncio.create_task(self.never())
        quick = asyncio.create_task(self.after("the race"))
        done, pending = await asyncio.wait({slow, quick}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.wait(pending)
        assert done == {quick}
        return await self.after(quick.result())


class BoundedHelper(Actor):
    """A keyed step called under a semaphore, as a helper does it."""

    async def run(self) -> list[str]:
        room = asyncio.Semaphore(3)

        async def fetch(url: str) -> str:
            async with room:
                return await self.fetch(url)

        return list(await asyncio.gather(*(fetch(url) for url in "abcdefgh")))

    @step(key="url", retry=_PATIENTLY)
    async def fetch(self, url: str) -> str:
        note("executed")
        await asyncio.sleep(0)
        boundary(f"in {url}")
        return url


async def catches(life: Life) -> dict[str, Any]:
    return await _ended(life, Catches())


async def wraps(life: Life) -> dict[str, Any]:
    return await _ended(life, Wraps())


async def loses_in_a_group(life: Life) -> dict[str, Any]:
    return await _ended(life, LosesInAGroup())


async def returns_exceptions(life: Life) -> dict[str, Any]:
    return await _ended(life, ReturnsExceptions())


async def times_out(life: Life) -> dict[str, Any]:
    return await _ended(life, TimesOut())


async def loses_a_race(life: Life) -> dict[str, Any]:
    return await _ended(life, LosesARace())


async def bounded_helper(life: Life) -> dict[str, Any]:
    return await _ended(life, BoundedHelper())
