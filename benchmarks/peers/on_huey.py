"""Huey on SQLite with fsync, four threads: three functions in a row, each run at most once."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from .course import Course, Took, given, tell

if TYPE_CHECKING:
    SqliteHuey: Any
else:
    from huey import SqliteHuey

THREADS = 4


def load(number: int) -> int:
    return number


def work(number: int) -> int:
    return number


class Ends:
    """Lets the loop wait for what ends in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[None]] = {}

    def of(self, number: int) -> asyncio.Future[None]:
        self._waiting[number] = self._loop.create_future()
        return self._waiting[number]

    def save(self, number: int) -> int:
        """The third function of each row."""
        self._loop.call_soon_threadsafe(self._waiting.pop(number).set_result, None)
        return number


async def run(course: Course) -> Took:
    logging.disable(logging.CRITICAL)  # each function run is a line otherwise
    ends = Ends()
    huey = SqliteHuey(filename=str(course.folder / "huey.sqlite"), fsync=True)
    first, second, third = (huey.task()(body) for body in (load, work, ends.save))
    consumer = huey.create_consumer(
        workers=THREADS, periodic=False, initial_delay=0.001, backoff=1.0, max_delay=0.002
    )
    consumer.start()

    async def task(number: int) -> None:
        ended = ends.of(number)
        huey.enqueue(first.s(number).then(second).then(third))
        await ended

    try:
        return await course.run(task)
    finally:
        consumer.stop(graceful=True)


if __name__ == "__main__":
    tell(asyncio.run(run(given())))
