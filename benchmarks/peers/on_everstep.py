"""everstep, at full durability."""

from __future__ import annotations

import asyncio

from everstep import Actor, Pool, Runtime, step

from .course import Course, Took, given, tell


class Plan(Actor, name="peers.plan"):
    number: int
    loaded: bool = False

    @step
    async def load(self) -> dict[str, int]:
        self.loaded = True
        return {"number": self.number}

    @step
    async def work(self) -> dict[str, int]:
        return {"number": self.number}

    @step
    async def save(self) -> dict[str, int]:
        return {"number": self.number}


async def run(course: Course) -> Took:
    pool = Pool(max_running=max(course.at_once, 1000))
    async with Runtime(course.folder / "everstep.db", tree=pool) as runtime:

        async def task(number: int) -> None:
            await (await runtime.start(Plan(number=number))).result()

        return await course.run(task)


if __name__ == "__main__":
    tell(asyncio.run(run(given())))
