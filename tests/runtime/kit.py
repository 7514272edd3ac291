"""Actors and helpers for the tests of the runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from everstep import Actor, Event, Pool, Restart, Retry, Runtime, Task, TaskInfo, step
from everstep.storage import (
    ENDED,
    Draft,
    MemoryStore,
    SqliteStore,
    StoreClosed,
    StoreFailed,
    Write,
)
from everstep.testing import ManualClock

ONCE = Retry(max_attempts=1)


class Gate:
    """Lets a test see who has come to a place, and lets them go on."""

    def __init__(self) -> None:
        self.reached: dict[str, asyncio.Event] = {}
        self.passed: dict[str, asyncio.Event] = {}
        self.order: list[str] = []

    async def stop_at(self, name: str) -> None:
        self.order.append(name)
        self._event(self.reached, name).set()
        await self._event(self.passed, name).wait()

    async def until(self, name: str) -> None:
        """Return when somebody has come there."""
        await self._event(self.reached, name).wait()

    def open(self, *names: str) -> None:
        for name in names:
            self._event(self.passed, name).set()

    @staticmethod
    def _event(events: dict[str, asyncio.Event], name: str) -> asyncio.Event:
        return events.setdefault(name, asyncio.Event())


class Plain(Actor, name="runtime.Plain"):
    """A plan of two steps that wait for nothing."""

    topic: str = "refunds"
    seen: list[str] = []

    @step
    async def load(self) -> None:
        self.seen.append("load")

    @step
    async def publish(self) -> str:
        self.seen.append("publish")
        return f"{self.topic}: {len(self.seen)}"


class Waiting(Actor, name="runtime.Waiting"):
    """A flow with one step that stops at the gate under its name."""

    gate: ClassVar[Gate] = Gate()

    name: str
    after: bool = False

    @step(retry=Retry(max_attempts=100))
    async def wait(self) -> str:
        await self.gate.stop_at(self.name)
        return self.name

    @step
    async def finish(self) -> None:
        self.after = True

    async def run(self) -> str:
        name = await self.wait()
        await self.finish()
        return name


class Unsteady(Actor, name="runtime.Unsteady"):
    """A flow that raises what the class is told to, then returns."""

    errors: ClassVar[list[BaseException]] = []

    async def run(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "at last"


class _Hasty:
    """A draft that is lost where the process dies before the store takes it."""

    def __init__(self, store: _Mortal, draft: Draft) -> None:
        self._store = store
        self._draft = draft
        self.settle = draft.settle

    def seal(self) -> Write | None:
        sealed = self._draft.seal()
        return None if self._store.dead else sealed


class _Mortal:
    """A store that from some moment on takes no more writes, as when its process has died."""

    dead = False
    failed = False

    def submit(self, draft: Draft) -> None:
        if self.dead:
            raise StoreClosed("it", "its process has died")
        if self.failed:
            raise StoreFailed("it", "the disk is gone")
        super().submit(_Hasty(self, draft))  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]  # of the store


class MortalMemory(_Mortal, MemoryStore):
    pass


class MortalFile(_Mortal, SqliteStore):
    pass


class Place:
    """One store over several runtimes on one clock, as over restarts of a process."""

    def __init__(self, path: Path | None) -> None:
        self.clock = ManualClock()
        self.path = path
        self._memory = MortalMemory(clock=self.clock)
        self._present: MortalMemory | MortalFile = self._memory

    def runtime(self, **options: Any) -> Runtime:
        """The next runtime on this store, where a crash is followed by a restart at once."""
        if self.path is not None:
            self._present = MortalFile(self.path, clock=self.clock)
        self._present.dead = self._present.failed = False
        pool: dict[str, Any] = {"restart": Restart(3), **options.pop("pool", {})}
        fixed: dict[str, Any] = {
            "tree": Pool(**pool),
            "clock": self.clock,
            "chance": lambda: 0.5,
            "grace": 0,
            "blocked_after": None,
        }
        return Runtime(self.path or ":memory:", store=self._present, **{**fixed, **options})

    def die(self) -> None:
        """From now on nothing that the present runtime does reaches the store."""
        self._present.dead = True

    def fail(self) -> None:
        """From now on the store cannot commit, and has lost its patience."""
        self._present.failed = True

    def discard(self) -> None:
        self._memory.discard()


async def kinds(task: Task[Any]) -> list[str]:
    return [event.kind async for event in task.events()]


async def until(task: Task[Any], done: Callable[[TaskInfo], bool]) -> TaskInfo:
    """Look after each commit, also one without an event, until the status fits."""
    session = task._session()  # pyright: ignore[reportPrivateUsage]  # to hear of such commits
    key = (await session.row(task.id)).key
    while True:
        with session.commits.watch(key) as committed:
            info = await task.status()
            if done(info):
                return info
            assert info.status not in ENDED, f"the task ended without it: {info}"
            await committed


async def next_event(task: Task[Any], kind: str, after: int = 0) -> Event:
    """The next event of this kind, now or later."""
    async for event in task.events(after=after, follow=True):
        if event.kind == kind:
            return event
    raise AssertionError(f"the task ended without {kind}")


def followers(runtime: Runtime) -> int:
    """How many wait for a commit."""
    return runtime._open().commits.waiting  # pyright: ignore[reportPrivateUsage]  # not public


async def kind_heard(runtime: Runtime, kind: str, child: str) -> None:
    """Return when the tree tells this of the child. Listens from the call on."""
    async for event in runtime.tree.events():
        if (event.kind, event.child) == (kind, child):
            return
    raise AssertionError(f"the tree ended without {kind} of {child}")


def heard(runtime: Runtime, kind: str, child: str) -> asyncio.Task[None]:
    return asyncio.create_task(kind_heard(runtime, kind, child))
