"""Children of one dynamic supervisor beside plain asyncio tasks: started, crashed once, stopped.

    python -m benchmarks.services           some minutes, up to 100,000 children
    python -m benchmarks.services --quick   some seconds, 1,000 children

On the plain side each child is an asyncio task in a set; a done callback starts another in place
of one that failed, and at the end all are cancelled and waited for. It keeps no order, limits
nothing, tells nobody, cuts off nothing.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from everstep import Child, DynamicSupervisor, Restart, supervise

from .instrument import main
from .rows import NONE, Row, Side

__all__ = ["rows"]

FULL = {1000: 5, 10_000: 5, 100_000: 1}
"""Children, and how often they are measured."""
QUICK = {1000: 3}


class Crowd:
    """Children that wait for the order to crash, and after their restart for their end."""

    def __init__(self, children: int) -> None:
        self.children = children
        self.lives = 0
        self.up = asyncio.Event()
        """Set when all have been started once."""
        self.crash = asyncio.Event()
        self.up_again = asyncio.Event()

    async def child(self) -> None:
        self.lives += 1
        if self.lives == self.children:
            self.up.set()
        if self.lives <= self.children:
            await self.crash.wait()
            raise ZeroDivisionError
        if self.lives == 2 * self.children:
            self.up_again.set()
        await asyncio.Event().wait()


@dataclass(slots=True)
class Watch:
    """Wall-clock seconds of one run: to start, to crash and be up again, to stop."""

    _marks: list[float] = field(default_factory=list[float])

    def mark(self) -> None:
        self._marks.append(time.perf_counter())

    def seconds(self) -> list[float]:
        return [later - mark for mark, later in zip(self._marks, self._marks[1:], strict=False)]


async def _supervised(crowd: Crowd, watch: Watch) -> None:
    tree = DynamicSupervisor("crowd", restart=Restart(crowd.children))
    async with supervise(tree, blocked_after=None) as running:
        watch.mark()
        child = Child(crowd.child)
        for _ in range(crowd.children):
            await running.start_child(child)
        await crowd.up.wait()
        watch.mark()
        crowd.crash.set()
        await crowd.up_again.wait()
        watch.mark()
    watch.mark()


async def _plain(crowd: Crowd, watch: Watch) -> None:
    tasks: set[asyncio.Task[None]] = set()

    def start() -> None:
        task = asyncio.get_running_loop().create_task(crowd.child())
        tasks.add(task)
        task.add_done_callback(ended)

    def ended(task: asyncio.Task[None]) -> None:
        tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            start()

    watch.mark()
    for _ in range(crowd.children):
        start()
        await asyncio.sleep(0)  # as start_child, which returns when it is started
    await crowd.up.wait()
    watch.mark()
    crowd.crash.set()
    await crowd.up_again.wait()
    watch.mark()
    for task in tasks:
        task.cancel()
    await asyncio.wait(list(tasks))
    watch.mark()


Keeper = Callable[[Crowd, Watch], Awaitable[None]]


def _run(keeper: Keeper, children: int) -> list[float]:
    """Microseconds a child, for each of the three parts."""

    async def main() -> list[float]:
        watch = Watch()
        await keeper(Crowd(children), watch)
        return watch.seconds()

    gc.collect()
    return [seconds / children * 1e6 for seconds in asyncio.run(main())]


@dataclass(slots=True)
class Line:
    """All runs of one size."""

    supervised: list[list[float]] = field(default_factory=list[list[float]])
    plain: list[list[float]] = field(default_factory=list[list[float]])


def _measure(sizes: dict[int, int]) -> dict[int, Line]:
    """Interleaved over sizes and sides, so that all suffer alike from a busy machine."""
    _run(_supervised, 200)
    lines = {children: Line() for children in sizes}
    for number in range(max(sizes.values())):
        for children, times in sizes.items():
            if number < times:
                lines[children].supervised.append(_run(_supervised, children))
                lines[children].plain.append(_run(_plain, children))
    return lines


_PARTS = ("started", "crashed, and up again", "stopped")


def rows(quick: bool, where: Path) -> list[Row]:
    logging.getLogger("everstep").setLevel(logging.CRITICAL)  # each crash is a line otherwise
    lines = _measure(QUICK if quick else FULL)
    return [
        row for children, line in lines.items() for row in _rows(f"{children:,} services", line)
    ]


def _rows(what: str, line: Line) -> list[Row]:
    """A row for each part, and before them one for their sum."""

    def row(what: str, part: slice) -> Row:
        ours, plain = (
            Side(name, NONE, tuple(sum(run[part]) for run in runs))
            for name, runs in (("everstep", line.supervised), ("asyncio", line.plain))
        )
        return Row(what, "us each", ours, (plain,))

    parts = [row(f"{what}: {name}", slice(n, n + 1)) for n, name in enumerate(_PARTS)]
    return [row(f"{what}: started, crashed once, stopped", slice(None)), *parts]


if __name__ == "__main__":
    main(rows)
