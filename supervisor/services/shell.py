"""A supervisor at work: one asyncio task that handles one message at a time."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import Context
from functools import partial
from typing import Any, Protocol

from ...actors.errors import UnaskedCancellation
from ...actors.foreign import log_error
from ...storage.clock import Timer
from ..errors import NoProc, SupervisorFailed
from ..pool_info import PoolEvent
from ..pool_spec import Pool
from .calls import Machine
from .deadline import Deadline
from .entries import budget_of
from .exits import BRUTAL, DOWN, Exit, crash, describe
from .handle import RunningSupervisor
from .messages import (
    Action,
    Adapt,
    Arm,
    Begin,
    Booted,
    Call,
    Disarm,
    Due,
    End,
    Escalate,
    Exited,
    Halt,
    Message,
    NotStarted,
    Post,
    Reply,
    Request,
    Start,
    Started,
    Stop,
    Tell,
)
from .pool_handle import RunningPool
from .pool_member import PoolMember
from .service import Report, Service
from .spec import Child, ChildSpec, SupervisorSpec, pools_of
from .world import World

__all__ = ["Shell"]


class Member(Protocol):
    """A life of a child, as its supervisor sees it."""

    ended: asyncio.Future[None]

    def stop(self, budget: float | None, *, swept: bool) -> None: ...

    def kill(self) -> None: ...


class Shell:
    """One life of a supervisor. To its own supervisor it is a member like a service.

    What is to be done is decided by `machine`; this does it. Reports of children, timers and
    calls come in through `post`, from callbacks that do nothing else. When the machine itself
    fails, the children are stopped in reverse order and the supervisor ends with a crash.
    """

    def __init__(
        self,
        world: World,
        spec: SupervisorSpec,
        path: str,
        id: str,  # noqa: A002
        number: int,
        report: Callable[[Report], None],
    ) -> None:
        self.path = path
        self.world = world
        self.machine = Machine(spec, path, next(world.lives), world.chance)
        self.machine.durable = world.pools is not None
        self.handle = RunningSupervisor(self)
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.outcome: Exit | None = None
        self._id = id
        self._number = number
        self._report = report
        self._inbox: deque[Message] = deque()
        self._news: asyncio.Future[None] | None = None
        self._members: dict[str, Member] = {}
        self._budgets: dict[str, float | None] = {}
        self._timers: dict[str, Timer] = {}
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._tokens = itertools.count(1)
        self._task: asyncio.Task[None] | None = None
        self._deadline: Timer | None = None
        self._booted = False
        self._asked = False
        self._swept = False
        self._yields = False

    # --- for its supervisor ---------------------------------------------------------------

    def start(self) -> None:
        self.post(Begin())
        loop = asyncio.get_running_loop()
        name = f"everstep supervisor {self.path}"
        self._task = loop.create_task(self._serve(), context=Context(), name=name)
        self._task.add_done_callback(self._done)

    def stop(self, budget: float | None, *, swept: bool = False) -> None:
        """Stop it in order, and kill it after `budget` seconds; 0 at once, None never."""
        if self._asked or self.outcome is not None:
            return
        self._asked = True
        if budget == 0:
            self.kill()
            return
        self.post(Halt(DOWN))
        if budget is not None:
            self._deadline = Deadline(self.world.clock, budget, self._overdue)

    def kill(self, outcome: Exit = BRUTAL) -> None:
        """Cut off all that is below at once, in no order."""
        if self.outcome is not None:
            return
        self.outcome = outcome  # from here on nothing is posted any more
        for member in list(self._members.values()):
            member.kill()
        self.world.tell(self.path, Tell("supervisor_ended", reason="killed", expected=False))
        self._close(outcome)
        if self._task is not None and asyncio.current_task() is not self._task:
            self._task.cancel()

    def _overdue(self) -> None:
        told = Tell("child_late", reason="did not end in time and is killed", expected=False)
        self.world.tell(self.path, told)
        self.kill()

    def pool_names(self) -> Iterator[str]:
        """The pools that are known here and below, running or not."""
        for entry in self.machine.entries.values():
            below = self._members.get(entry.id)
            if isinstance(below, Shell):
                yield from below.pool_names()
            else:
                yield from (pool.name for _, pool in pools_of(entry.spec, entry.id))

    # --- what comes in --------------------------------------------------------------------

    def post(self, message: Message) -> None:
        """Hand in a message; of no effect once it has ended."""
        if self.outcome is None:
            self._inbox.append(message)
            self._wake()

    async def ask(self, request: Request) -> Any:
        """Have a call handled in its turn. Cancelling the caller does not undo it.

        Raises NoProc where the supervisor has ended, or ends before the answer.
        """
        if self.outcome is not None:
            raise NoProc(self.path)
        token = next(self._tokens)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls[token] = answer
        self.post(Call(token, request))
        try:
            return await answer
        finally:
            self._calls.pop(token, None)

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    # --- its task -------------------------------------------------------------------------

    async def _serve(self) -> None:
        try:
            while self.outcome is None:
                await self._turn()
        except Exception as bug:  # noqa: BLE001  (the supervisor's own boundary)
            await self._collapse(bug)

    async def _turn(self) -> None:
        try:
            while not self._inbox:
                self._news = asyncio.get_running_loop().create_future()
                await self._news
            if self._yields:  # something was started: others run before the next message
                self._yields = False
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._cancelled()
            return
        if self._inbox:
            self._handle(self._inbox.popleft())

    def _handle(self, message: Message) -> None:
        for action in self.machine.handle(message, self.world.clock.monotonic()):
            if self.outcome is None:  # an interrupt may have killed it meanwhile
                self._perform(action)

    def _cancelled(self) -> None:
        """Nobody but the end of the loop, or a stranger, cancels a supervisor: stop in order.

        The second time, or while it stops already: at once.
        """
        if self._task is not None:
            self._task.uncancel()
        if self.outcome is not None:
            return
        if self.machine.ending is not None:
            self.kill()
            return
        self._swept = True
        self._handle(Halt(crash(UnaskedCancellation(f"supervisor {self.path}"))))

    async def _collapse(self, bug: Exception) -> None:
        """The machine has failed and is not asked any more: stop the children in reverse order."""
        log_error(bug, "supervisor %s failed and stops its children", self.path)
        for id, member in reversed(list(self._members.items())):  # noqa: A001
            member.stop(self._budgets[id], swept=False)
            try:
                await asyncio.wait([member.ended])
            except asyncio.CancelledError:
                self.kill()
                return
        if self.outcome is None:
            error = SupervisorFailed(self.path, describe(bug))
            error.__cause__ = bug
            told = Tell("supervisor_ended", reason=str(error), error=error, expected=False)
            self.world.tell(self.path, told)
            self._close(crash(error))

    def _done(self, task: asyncio.Task[None]) -> None:
        if self.outcome is None:  # cancelled before its first step
            self.kill()
        elif not task.cancelled():
            task.result()

    # --- what is to be done ---------------------------------------------------------------

    def _perform(self, action: Action) -> None:
        match action:
            case Start(id, number, spec, extra):
                self._yields = True
                self._start(id, number, spec, extra)
            case Stop(id, budget):
                member = self._members.get(id)
                if member is not None:  # otherwise its end is in the inbox
                    member.stop(budget, swept=self._swept)
            case Adapt(id, policy):
                pool = self._members.get(id)
                if isinstance(pool, PoolMember):  # otherwise it has just ended
                    pool.adapt(policy)
            case Arm(id, number, delay):
                due = partial(self._due, Due(id, number))
                self._timers[id] = self.world.clock.call_later(delay, due)
            case Disarm(id):
                timer = self._timers.pop(id, None)
                if timer is not None:  # otherwise it has just fired
                    timer.cancel()
            case Post(message):
                self.post(message)
            case Reply(token, answer):
                self._reply(token, answer)
            case Tell():
                self.world.tell(self.path, action)
            case Booted():
                self._booted = True
                self._report(Started(self._id, self._number, self.handle))
            case Escalate(ended):
                self.world.interrupt(ended)
            case End(ended):
                self._close(ended)

    def _start(self, id: str, number: int, spec: ChildSpec, extra: tuple[Any, ...]) -> None:  # noqa: A002
        self._budgets[id] = budget_of(spec)
        if isinstance(spec, Child):
            world = self.world
            service = Service(self.path, id, number, world.clock, self._reported, world.late)
            self._members[id] = service
            service.start(spec, extra)
        elif isinstance(spec, Pool):
            assert self.world.pools is not None  # the machine lets no pool in without a store
            pool = PoolMember(self.world.pools, f"{self.path}/{id}", id, number, self._reported)
            self._members[id] = pool
            pool.start(spec, RunningPool(self, id, pool), partial(self._told_by_pool, id, number))
        else:
            shell = Shell(self.world, spec, f"{self.path}/{id}", id, number, self._reported)
            self._members[id] = shell
            shell.start()

    def _reported(self, report: Report) -> None:
        """A child tells of its start or its end. A callback: it hands on and does nothing else."""
        if not isinstance(report, Started):
            member = self._members.pop(report.id)
            del self._budgets[report.id]
            if isinstance(member, Service) and not member.is_cut:
                self.world.sweeper.ended(member)
        self.post(report)

    def _told_by_pool(self, id: str, number: int, kind: PoolEvent, reason: str, ok: bool) -> None:  # noqa: A002
        self.world.tell(self.path, Tell(kind, id, number, reason, expected=ok))

    def _due(self, due: Due) -> None:
        del self._timers[due.id]
        self.post(due)

    def _reply(self, token: int, answer: Any) -> None:
        waiting = self._calls.pop(token, None)
        if waiting is None or waiting.done():
            return  # who called has gone
        if isinstance(answer, Exception):
            waiting.set_exception(answer)
        else:
            waiting.set_result(answer)

    def _close(self, ended: Exit) -> None:
        self.outcome = ended
        for timer in (*self._timers.values(), *filter(None, [self._deadline])):
            timer.cancel()
        self._timers.clear()
        for token in list(self._calls):
            self._reply(token, NoProc(self.path))
        self._inbox.clear()
        self._wake()
        if not self.ended.done():
            self.ended.set_result(None)
        if self._booted or self._asked or ended.kind == "interrupt":
            self._report(Exited(self._id, self._number, ended))
        else:
            self._report(NotStarted(self._id, self._number, ended))
