"""Children of one dynamic supervisor beside plain asyncio tasks: started, crashed once, stopped.

    python -m benchmarks.services           some minutes, up to 100,000 children
    python -m benchmarks.services --quick   under a minute, up to 10,000

On the plain side each child is an asyncio task in a set; a done callback starts another in place
of one that failed, and at the end all are cancelled and waited for. It keeps no order, limits
nothing, tells nobody, cuts off nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from everstep import Child, DynamicSupervisor, Restart, supervise

from . import machine

__all__ = ["main"]

FULL = {1000: 5, 10_000: 5, 100_000: 1}
"""Children, and how often they are measured."""
QUICK = {1000: 3, 10_000: 2}


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


Side = Callable[[Crowd, Watch], Awaitable[None]]


def _run(side: Side, children: int) -> list[float]:
    """Microseconds a child, for each of the three parts."""

    async def main() -> list[float]:
        watch = Watch()
        await side(Crowd(children), watch)
        return watch.seconds()

    gc.collect()
    return [seconds / children * 1e6 for seconds in asyncio.run(main())]


@dataclass(slots=True)
class Line:
    """All runs of one size."""

    supervised: list[list[float]] = field(default_factory=list[list[float]])
    plain: list[list[float]] = field(default_factory=list[list[float]])

    def cells(self) -> list[str]:
        ours, theirs = ([sum(run) for run in runs] for runs in (self.supervised, self.plain))
        ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
        parts = [statistics.median(part) for part in zip(*self.supervised, strict=True)]
        return [
            str(len(ours)),
            *(f"{part:.0f}" for part in parts),
            _spread(ours, ".0f"),
            _spread(theirs, ".0f"),
            _spread(ratios, ".1f"),
        ]


def _spread(values: list[float], form: str) -> str:
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


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


_HEAD = (
    "| children | runs | start | crash, up again | stop | all, us a child | plain asyncio | ratio |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a dynamic supervisor beside asyncio.")
    parser.add_argument("--quick", action="store_true", help="under a minute")
    given = parser.parse_args()
    logging.getLogger("everstep").setLevel(logging.CRITICAL)  # each crash is a line otherwise
    before = machine.load()
    lines = _measure(QUICK if given.quick else FULL)
    print("microseconds a child: median of the runs (least-most)\n")
    print(_HEAD)
    print("|---" * 8 + "|")
    for children, line in lines.items():
        print(f"| {children:,} | {' | '.join(line.cells())} |")
    print(f"\nload {before:.1f} before, {machine.load():.1f} after")


if __name__ == "__main__":
    main()
