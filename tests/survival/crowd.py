"""Tasks that kill their process, in a crowd of healthy ones."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.errors import TaskFailed
from everstep.storage.clock import Clock
from everstep.supervisor.restart import Restart
from everstep.task import Task
from everstep.testing import Life, die, note
from tests.survival.host import living

__all__ = ["crowd"]

_PATIENT = Retry(100, backoff=none())
_CLOCKS: list[Clock] = []


class Healthy(Actor):
    """Two steps; the second may take longer than any life of the process."""

    seconds: float = 0.0

    @step(retry=_PATIENT)
    async def prepare(self) -> None:
        note("executed")
        await asyncio.sleep(0)

    @step(retry=_PATIENT)
    async def work(self) -> str:
        note("executed")
        await _CLOCKS[-1].sleep(self.seconds)
        return "healthy"


class KillsAtOnce(Actor):
    """Kills its process each time it runs."""

    @step(retry=_PATIENT)
    async def work(self) -> None:
        note("killer")
        await asyncio.sleep(0)
        die()


class KillsAfterACheckpoint(Actor):
    """One new checkpoint in each life, then the end of the process."""

    async def run(self) -> None:
        for number in range(10_000):
            await self.work(number)
            if self._new:
                note("killer")
                die()

    @step(retry=_PATIENT)
    async def work(self, number: int) -> None:
        note("executed")
        self._new = True

    _new: bool = False


async def crowd(life: Life, healthy: int, seconds: float) -> dict[str, Any]:
    """Start them all, the killers last, and wait for the end of each."""
    _CLOCKS.append(life.clock)
    async with living(life, restart=Restart(3)) as runtime:
        tasks: list[Task[Any]] = []
        for number in range(healthy):
            actor = Healthy(seconds=seconds if number % 2 else 0.0)
            tasks.append(await runtime.start(actor, id=f"healthy-{number}"))
        tasks.append(await runtime.start(KillsAtOnce(), id="kills-at-once"))
        tasks.append(await runtime.start(KillsAfterACheckpoint(), id="kills-after-a-checkpoint"))
        outcomes = await asyncio.gather(*map(_outcome, tasks))
    counts = Counter(outcomes[:healthy])
    return {"healthy": dict(counts), "killers": outcomes[healthy:]}


async def _outcome(task: Task[Any]) -> str:
    try:
        return str(await task.result())
    except TaskFailed as failed:
        return f"failed by {failed.reason}"
