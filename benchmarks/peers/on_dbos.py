"""DBOS on its SQLite system database, as it sets that up: a rollback journal, synchronous FULL."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .course import Course, Took, given, tell

if TYPE_CHECKING:
    DBOS: Any
else:
    from dbos import DBOS


async def load(number: int) -> dict[str, int]:
    return {"number": number}


async def work(number: int) -> dict[str, int]:
    return {"number": number}


async def save(number: int) -> dict[str, int]:
    return {"number": number}


async def run(course: Course) -> Took:
    DBOS(
        config={
            "name": "peers",
            "system_database_url": f"sqlite:///{course.folder / 'dbos.sqlite'}",
            "log_level": "ERROR",
        }
    )
    steps = [DBOS.step()(body) for body in (load, work, save)]

    async def plan(number: int) -> None:
        for step in steps:
            await step(number)

    workflow = DBOS.workflow()(plan)
    DBOS.launch()
    try:
        return await course.run(workflow)
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    tell(asyncio.run(run(given())))
