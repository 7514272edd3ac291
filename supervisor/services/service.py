"""One life of a service: an asyncio task that only its supervisor cancels, on a leash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ...actors.leash import Leash, Severed
from ...storage.clock import Clock, Timer
from ..errors import EndedBeforeStarted, StartTimeout
from .deadline import Deadline
from .entries import budget_of
from .exits import BRUTAL, Exit, crash, exit_of
from .leftovers import bury, keep_until_done, owned_context, place_of
from .messages import Exited, NotStarted, Started
from .spec import Child

__all__ = ["Report", "Service"]

Report = Started | NotStarted | Exited


class Service:
    """Runs a child from its start to its end, and reports both, each once.

    Its coroutine begins in an empty context, the same before and after a restart. Nothing awaits
    its task: the supervisor goes by the reports. `stop` cancels it once however often it is
    called; when its budget is over it is cut off, and reported as ended although its task may
    go on waiting.
    """

    def __init__(
        self,
        supervisor: str,
        id: str,  # noqa: A002
        number: int,
        clock: Clock,
        report: Callable[[Report], None],
        on_late: Callable[[Service, str], None],
    ) -> None:
        self.supervisor = supervisor
        self.id = id
        self.number = number
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._who = f"{supervisor}/{id}"
        self._clock = clock
        self._report = report
        self._on_late = on_late
        self._leash: Leash[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: Timer | None = None
        self._error: BaseException | None = None
        self._began = False
        self._ready = False
        self._asked = False
        self._late: StartTimeout | None = None

    # --- for the supervisor ---------------------------------------------------------------

    @property
    def is_cut(self) -> bool:
        """Whether it was cut off; then the tasks that it had started go on."""
        return self._leash is not None and self._leash.is_cut

    def start(self, child: Child, extra: tuple[Any, ...]) -> None:
        """Call the child's function and run what it gives. Its failure is reported, not raised."""
        context = owned_context(self)
        try:
            inner = context.run(self._call, child, extra)
        except BaseException as error:  # noqa: BLE001  (the boundary of user code)
            self._over(exit_of(error, asked=False, who=self._who))
            return
        self._leash = Leash(inner)
        name = f"everstep child {self._who}"
        if child.tells_when_started:
            self._limit_start(child)
        else:
            self._tell_started(None)
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._main(self._leash), context=context, name=name)
        self._task.add_done_callback(self._done)

    def stop(self, budget: float | None, *, swept: bool) -> None:
        """Cancel it, and cut it off after `budget` seconds; 0 at once, None never.

        `swept`: the end of the loop has cancelled every task, so that a second cancellation
        would only interrupt a cleanup.
        """
        if self._asked or self.ended.done():
            return
        self._asked = True
        if budget == 0:
            self._cut()
        elif self._late is None:
            self._cancel(budget, again=not swept)

    def kill(self) -> None:
        """Cut it off at once: it is never resumed again, its `finally` does not run."""
        self._asked = True
        self._cut()

    # --- the child's side -----------------------------------------------------------------

    def started(self, value: Any = None) -> None:
        """The child is ready: anyio's `task_status.started`.

        Raises RuntimeError the second time. Without effect once the child is to end.
        """
        if self._ready:
            raise RuntimeError(f"{self._who} called task_status.started() twice")
        if not (self._asked or self._late or self.ended.done()):
            self._disarm()
            self._tell_started(value)

    def _tell_started(self, value: Any) -> None:
        self._ready = True
        self._report(Started(self.id, self.number, value))

    def _call(self, child: Child, extra: tuple[Any, ...]) -> Coroutine[Any, Any, Any]:
        ready = {"task_status": self} if child.tells_when_started else {}
        return child.start(*extra, *child.args, **ready)

    async def _main(self, leash: Leash[Any]) -> None:
        self._began = True
        try:
            await leash
        except Severed:
            return
        except BaseException as error:  # noqa: BLE001  (the boundary of user code)
            self._error = error

    # --- its end --------------------------------------------------------------------------

    def _done(self, task: asyncio.Task[None]) -> None:
        if self.ended.done():
            return
        if not self._began and self._leash is not None:
            self._leash.close()  # cancelled before its first step: its code never ran
            self._error = asyncio.CancelledError()
        self._over(exit_of(self._error, asked=self._asked, who=self._who))

    def _over(self, ended: Exit) -> None:
        self._disarm()
        self.ended.set_result(None)
        self._error = None
        if self._ready or self._asked or ended.kind == "interrupt":
            self._report(Exited(self.id, self.number, ended))
        else:
            self._report(NotStarted(self.id, self.number, self._not_started(ended)))

    def _not_started(self, ended: Exit) -> Exit:
        if self._late is not None:
            self._late.__cause__ = ended.error
            return crash(self._late)
        return crash(EndedBeforeStarted(self._who)) if ended.kind == "normal" else ended

    def _limit_start(self, child: Child) -> None:
        if child.start_timeout is not None:
            cleanup = budget_of(child)
            late = StartTimeout(self._who, child.start_timeout)
            self._timer = self._clock.call_later(
                child.start_timeout, lambda: self._start_is_late(late, cleanup)
            )

    def _start_is_late(self, late: StartTimeout, cleanup: float | None) -> None:
        self._late = late
        if cleanup == 0:
            self._cut()
        else:
            self._cancel(cleanup)

    def _cancel(self, budget: float | None, *, again: bool = True) -> None:
        self._disarm()
        if self._task is not None and (again or not self._task.cancelling()):
            self._task.cancel()
        if budget is not None:
            self._timer = Deadline(self._clock, budget, self._overdue)

    def _overdue(self) -> None:
        """Its budget is over."""
        if self._task is not None and self._task.done():
            return  # it has ended, and that is about to be reported
        if self._leash is not None:
            self._on_late(self, place_of(self._leash.inner))
        self._cut()

    def _cut(self) -> None:
        if self.ended.done() or self._leash is None:
            return
        self._leash.cut()
        if self._began:
            bury(self._leash.inner)
        else:
            self._leash.inner.close()
        if self._task is not None:
            keep_until_done(self._task)
            self._task.cancel()
        self._over(BRUTAL)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
