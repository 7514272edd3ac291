"""Many tasks started by one call, some in each commit."""

from __future__ import annotations

from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note
from tests.survival.host import living

__all__ = ["shipped"]

_BYTES = 400_000
_TOGETHER = 3
"""So many of these fill a commit."""
_NAMES = [f"parcel-{number}" for number in range(8)]


class Parcel(Actor, name="many.Parcel"):
    name: str
    content: str

    @step(retry=Retry(1000))
    async def weigh(self) -> int:
        note("executed")
        boundary(f"weighing {self.name}")
        return len(self.content)


async def shipped(life: Life) -> dict[str, Any]:
    """Start them all, as often as it takes, and wait for each."""
    async with living(life, restart=Restart(3, max_deaths=1000)) as runtime:
        found = [info.id for info in await runtime.tasks()]
        assert found == _NAMES[: len(found)], found
        assert len(found) in {0, _TOGETHER, 2 * _TOGETHER, len(_NAMES)}, found
        parcels = [Parcel(name=name, content="x" * _BYTES) for name in _NAMES]
        tasks = await runtime.start_many(parcels, ids=_NAMES)
        results = [await task.result() for task in tasks]
        starts = [[e.kind async for e in task.events()].count("task_started") for task in tasks]
        return {"ids": [info.id for info in await runtime.tasks()], "r": results, "s": starts}
