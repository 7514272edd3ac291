"""Children that do as they are told, under supervisors, on a clock that waits for nobody."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Concatenate, Literal, ParamSpec

from anyio.abc import TaskStatus

from everstep import (
    Child,
    DynamicSupervisor,
    Ignore,
    RunningSupervisor,
    Shutdown,
    SupervisionEvent,
    Supervisor,
    supervise,
)
from everstep.supervisor.services.running import Supervision
from everstep.testing import IdleLoop, ManualClock

P = ParamSpec("P")
Beginning = Literal["ok", "fail", "ignore", "hang", "interrupt"]
Answer = Literal["shutdown", "normal", "info", "crash", "interrupt", "exit"]


class Boom(Exception):
    """What a child crashes with when it is told to crash."""


@dataclass
class Habit:
    """How a child behaves when it is started and when it is stopped."""

    starts: list[Beginning] = field(default_factory=list[Beginning])
    """What its next starts are like; afterwards they go well."""
    always: Beginning = "ok"
    """What its starts are like once `starts` is used up."""
    hang: float = 1e9
    """Seconds that a start that hangs takes before it goes well."""
    cleanup: float = 0.0
    stuck: bool = False
    """It swallows every cancellation."""
    answer: Answer = "shutdown"


class Rig:
    """The clock, the log and the orders of one test.

    The log says `+a` when child a was started, `!a` when its start failed, `-a` when it was asked
    to stop, and `.a` when it had cleaned up.
    """

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.log: list[str] = []
        self.events: list[SupervisionEvent] = []
        self.habits: dict[str, Habit] = {}
        self.orders: dict[str, asyncio.Future[str]] = {}
        self.lives: dict[str, int] = {}

    def child(self, name: str, habit: Habit | None = None, **options: Any) -> Child:
        """A child that waits for orders."""
        self.habits[name] = habit or Habit()
        return Child(self._obey, args=(name,), id=name, **options)

    def children(self, names: str, **options: Any) -> list[Child]:
        return [self.child(name, **options) for name in names]

    def run(self, tree: Supervisor | DynamicSupervisor) -> Supervision:
        return supervise(
            tree,
            clock=self.clock,
            chance=lambda: 1.0,
            on_event=self.events.append,
            blocked_after=None,
        )

    # --- orders ---------------------------------------------------------------------------

    async def order(self, *orders: str) -> None:
        """Give orders like `crash a` in one turn of the loop, and wait until all is quiet."""
        for order in orders:
            what, name = order.split()
            self.orders[name].set_result(what)
        await self.settle()

    async def crash(self, *names: str) -> None:
        await self.order(*(f"crash {name}" for name in names))

    async def settle(self) -> None:
        """Return when everybody waits: on the idle loop, time passes only then."""
        await self.clock.sleep(1e-9)

    def took(self) -> list[str]:
        """What was logged since the last call."""
        log, self.log[:] = list(self.log), []
        return log

    def kinds(self, *, unexpected: bool = False) -> list[str]:
        return [
            f"{event.kind} {event.child}".strip()
            for event in self.events
            if not (unexpected and event.expected)
        ]

    # --- the child ------------------------------------------------------------------------

    async def _obey(self, name: str, *, task_status: TaskStatus[str]) -> None:
        habit = self.habits[name]
        self.lives[name] = self.lives.get(name, 0) + 1
        begins = habit.starts.pop(0) if habit.starts else habit.always
        if begins != "ok":
            await self._start_badly(name, begins, habit.hang)
        order: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.orders[name] = order
        self.log.append(f"+{name}")
        task_status.started(f"{name} is ready")
        try:
            self._end(await order)
        except asyncio.CancelledError:
            if order.done() and not order.cancelled():
                raise
            await self._clean_up(name, habit)

    async def _start_badly(self, name: str, begins: Beginning, seconds: float) -> None:
        if begins == "hang":
            try:
                await self.clock.sleep(seconds)
            except asyncio.CancelledError:
                self.log.append(f"!{name}")
                raise
            return
        self.log.append(f"!{name}")
        if begins == "fail":
            raise Boom(f"{name} does not start")
        if begins == "ignore":
            raise Ignore
        if begins == "interrupt":
            raise KeyboardInterrupt

    def _end(self, order: str) -> None:
        match order:
            case "crash":
                raise Boom
            case "shutdown":
                raise Shutdown
            case "info":
                raise Shutdown("x")
            case "ignore":
                raise Ignore
            case "cancel":
                raise asyncio.CancelledError
            case "interrupt":
                raise KeyboardInterrupt
            case "exit":
                raise SystemExit(3)
            case _:
                return

    async def _clean_up(self, name: str, habit: Habit) -> None:
        self.log.append(f"-{name}")
        while habit.stuck:
            try:
                await self.clock.sleep(1e9)
            except asyncio.CancelledError:
                self.log.append(f"-{name} again")
        if habit.cleanup:
            await self.clock.sleep(habit.cleanup)
            self.log.append(f".{name}")
        match habit.answer:
            case "shutdown":
                raise asyncio.CancelledError
            case "info":
                raise Shutdown("x")
            case "crash":
                raise Boom
            case "interrupt":
                raise KeyboardInterrupt
            case "exit":
                raise SystemExit(3)
            case "normal":
                return


def timeless(
    test: Callable[Concatenate[Rig, P], Awaitable[None]],
) -> Callable[P, None]:
    """Run an async test with a rig, on a loop whose time passes only when everybody waits."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        clock = ManualClock()

        async def main() -> None:
            await test(Rig(clock), *args, **kwargs)

        with asyncio.Runner(loop_factory=lambda: IdleLoop(clock)) as runner:
            runner.run(main())

    signature = inspect.signature(test)
    without_rig = list(signature.parameters.values())[1:]
    run.__signature__ = signature.replace(parameters=without_rig)  # type: ignore[attr-defined]
    return run


def states(running: RunningSupervisor) -> dict[str, str]:
    """The children in the order of their start, each with its status."""
    return {info.id: info.status for info in reversed(running.children())}
