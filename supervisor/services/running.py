"""`supervise`: a tree of services for as long as a block of code."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from types import TracebackType

import anyio

from ...actors.backoff import Chance
from ...actors.errors import BadCall
from ...actors.foreign import is_kind, read, words_of
from ...storage.clock import Clock, SystemClock
from ..errors import NoProc
from ..watchdog import Watchdog, check_blocked_after, tell_blocked
from .events import Hub, SupervisionEvent
from .exits import DOWN, Exit, crash
from .handle import RunningSupervisor
from .messages import Halt, NotStarted, Started
from .service import Report
from .shell import Shell
from .spec import DynamicSupervisor, Supervisor, SupervisorSpec, pools_of, refuse_pools
from .world import World

__all__ = ["Supervision", "supervise"]


def supervise(
    tree: Supervisor | DynamicSupervisor,
    *,
    clock: Clock | None = None,
    chance: Chance | None = None,
    on_event: Callable[[SupervisionEvent], object] | None = None,
    blocked_after: float | None = 1.0,
) -> Supervision:
    """Run a tree of services, without a store, for as long as the block.

        async with supervise(tree) as running:
            ...

    Entering returns when all children are started; where one does not start, those before it are
    stopped and FailedToStartChild is raised. Leaving stops the tree in reverse order and returns
    when it is down, also when the host is cancelled meanwhile; a second cancellation while
    it leaves cuts off what is left.

    When the tree gives up, the body is cancelled and RestartLimitExceeded raised in its place.
    When a child raises KeyboardInterrupt or SystemExit, the tree stops in order and that is raised.
    A tree that ends in order by itself (`auto_shutdown`, `running.stop()`) leaves the body alone.

    `on_event` is called with each event, from the first start on. Code that blocks the loop for
    `blocked_after` seconds of real time is named in the log while it does and in an event
    afterwards; None is no watchdog. `clock` and `chance` are for tests: time, and the jitter of
    backoffs.
    """
    _check_tree(tree)
    for child in tree.children if isinstance(tree, Supervisor) else ():
        refuse_pools(tree.name, child)
    check_blocked_after(blocked_after)
    world = World(clock or SystemClock(), chance or random.Random().random, Hub(on_event))
    return Supervision(tree, world, blocked_after)


class Supervision:
    """The context manager that `supervise` gives, and that a runtime enters; for one use."""

    def __init__(self, tree: SupervisorSpec, world: World, blocked_after: float | None) -> None:
        self._tree = tree
        self._world = world
        self._watchdog = Watchdog(blocked_after, partial(tell_blocked, world, tree.name))
        self._shell: Shell | None = None
        self._host: asyncio.Task[object] | None = None
        self._cancels_before = 0
        self._in_body = False
        self._cancelled_host = False
        self._news: asyncio.Future[None] | None = None
        self._failure: Exception | None = None

    @property
    def handle(self) -> RunningSupervisor:
        """The root, as `__aenter__` gave it."""
        if self._shell is None:
            raise NoProc(self._tree.name)
        return self._shell.handle

    def pool_names(self) -> list[str]:
        """The pools that the tree has now, running or not."""
        if self._shell is None:
            return [pool.name for _, pool in pools_of(self._tree, self._tree.name)]
        return list(self._shell.pool_names())

    def fail(self, error: Exception) -> None:
        """What the tree stands on has failed: cancel the body, stop in order, raise `error`."""
        self._failure = error if self._failure is None else self._failure
        self._cancel_host()
        if self._shell is not None:
            self._shell.post(Halt(crash(error)))

    async def __aenter__(self) -> RunningSupervisor:
        if self._shell is not None:
            raise RuntimeError("this supervise(…) was entered before; write a new one")
        self._watchdog.start()
        try:
            return await self._enter()
        except BaseException:
            self._watchdog.stop()
            raise

    async def _enter(self) -> RunningSupervisor:
        self._host = asyncio.current_task()
        self._news = asyncio.get_running_loop().create_future()
        name = self._tree.name
        shell = Shell(self._world, self._tree, name, name, 1, self._reported)
        self._shell = shell
        self._world.interrupt = partial(self._interrupted, shell)
        shell.start()
        try:
            await self._news
        except asyncio.CancelledError:
            await self._down(shell, asked=1)
            raise
        if shell.outcome is not None and shell.outcome.error is not None:
            raise shell.outcome.error
        self._in_body = shell.outcome is None
        self._cancels_before = self._host.cancelling() if self._host else 0
        return shell.handle

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._in_body = False
        try:
            await self._leave(error)
        finally:
            self._watchdog.stop()

    async def _leave(self, error: BaseException | None) -> None:
        shell = self._shell
        if shell is None:
            return
        by_us = self._take_back_cancellation()
        asked = is_kind(error, (asyncio.CancelledError, KeyboardInterrupt, SystemExit))
        await self._down(shell, asked=int(asked and not by_us))
        failure = _failure(shell.outcome) if self._failure is None else self._failure
        if failure is None:
            return
        leaving = not is_kind(failure, Exception)  # the process is to end
        if error is None or (is_kind(error, asyncio.CancelledError) and (by_us or leaving)):
            raise failure
        note = f"while the tree {shell.path!r} had ended: {words_of(failure)}"
        read(lambda: error.add_note(note), lambda _: None)

    def _reported(self, report: Report) -> None:
        """The root tells of its start or its end."""
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
        if isinstance(report, (Started, NotStarted)) or not self._in_body:
            return
        if _failure(report.ended) is not None:
            self._cancel_host()

    def _cancel_host(self) -> None:
        if self._in_body and self._host is not None and not self._cancelled_host:
            self._cancelled_host = True
            self._host.cancel()

    def _interrupted(self, shell: Shell, ended: Exit) -> None:
        """A child raised KeyboardInterrupt or SystemExit: stop the tree from its root.

        Ctrl-C while it stops already, which lands in whatever code is running, means: at once.
        """
        if shell.machine.ending is not None and is_kind(ended.error, KeyboardInterrupt):
            shell.kill(ended)
        else:
            shell.post(Halt(ended))

    def _take_back_cancellation(self) -> bool:
        """Whether the body was cancelled by the end of the tree, and by nobody else."""
        host = asyncio.current_task()
        if not self._cancelled_host or host is None or host is not self._host:
            return False  # or it was entered by one task and is left by another
        return host.uncancel() <= self._cancels_before

    async def _down(self, shell: Shell, asked: int) -> None:
        """Stop the tree and wait for it, whoever cancels the host meanwhile.

        `asked` is how often the host was told to end; the second time what is left is cut off.
        A scope of anyio around the host is kept out, since it would cancel again at every await.
        """
        cancelled: asyncio.CancelledError | None = None
        shell.post(Halt(DOWN))
        with anyio.CancelScope(shield=True):
            while not shell.ended.done():
                try:
                    await asyncio.wait([shell.ended])
                except asyncio.CancelledError as again:
                    cancelled = again
                    asked += 1
                    if asked > 1:
                        shell.kill()
        if cancelled is not None:
            raise cancelled


def _check_tree(tree: object) -> None:
    if not isinstance(tree, Supervisor | DynamicSupervisor):
        raise BadCall("tree", tree, "is no supervisor", 'Supervisor("root", children=[…])')


def _failure(ended: Exit | None) -> BaseException | None:
    """What is raised when the tree has ended like this."""
    return None if ended is None else ended.error
