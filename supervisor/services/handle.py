"""The handle of a running supervisor: looks at it, and manages its children."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..errors import NoProc, NotFound
from ..restart import UNSET, Restart, Unset
from .entries import ChildInfo, Counts, Entry, Ref, counts, entry_in
from .events import EventStream
from .exits import Exit
from .messages import DeleteChild, Halt, Reconfigure, RestartChild, StartChild, TerminateChild
from .outline import plain_restart
from .pool_handle import RunningPool
from .spec import AutoShutdown, ChildSpec, Strategy, check_arguments, check_children
from .view import ChildView, SupervisorView, child_view

if TYPE_CHECKING:
    from .shell import Shell

__all__ = ["RunningSupervisor"]


class RunningSupervisor:
    """One life of a supervisor. When its parent has started it again, ask for the new handle.

    Looking is answered at once, also while children start and stop. Calls that change something
    are handled one after the other by the supervisor itself; cancelling the caller undoes none.
    On a supervisor that has ended each raises NoProc.
    """

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def __repr__(self) -> str:
        ended = self._shell.outcome
        state = "running" if ended is None else ended.reason
        return f"<RunningSupervisor {self.path} {state}>"

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def path(self) -> str:
        """The names from the root down, joined by `/`."""
        return self._shell.path

    # --- looking --------------------------------------------------------------------------

    def children(self) -> list[ChildInfo]:
        """All children that are known, the newest first."""
        return [self._known(entry) for entry in reversed(self._entries().values())]

    def child(self, id: str) -> ChildInfo:  # noqa: A002
        """What is known of one child. Raises NotFound."""
        return self._known(self._entry(id))

    def spec(self, id: str) -> ChildSpec:  # noqa: A002
        """The specification of a child; that of a temporary one comes without its arguments.

        Raises NotFound.
        """
        return self._entry(id).spec

    def count(self) -> Counts:
        """How many children are known, run, are supervisors, are workers."""
        return counts(self._entries().values())

    def restarts(self) -> int:
        """How many restarts are in the window that ends now."""
        machine = self._shell.machine
        self._entries()
        return machine.window.count(self._shell.world.clock.monotonic(), machine.restart.within)

    def look(self) -> SupervisorView:
        """The whole tree from here down, at this moment, as plain data; `print` draws it."""
        machine = self._shell.machine
        entries = list(self._entries().values())
        return SupervisorView(
            name=self.name,
            path=self.path,
            strategy=machine.strategy,
            dynamic=machine.dynamic,
            max_children=machine.max_children,
            restart=plain_restart(machine.restart),
            restarts=self.restarts(),
            auto_shutdown=machine.auto_shutdown,
            children=tuple(self._seen(entry) for entry in entries),
        )

    def supervisor(self, id: str) -> RunningSupervisor:  # noqa: A002
        """The handle of a supervisor among the children.

        Raises NotFound where no supervisor has this id, NoProc while it does not run.
        """
        info = self.child(id)
        if info.kind != "supervisor":
            raise NotFound(self.path, id, "supervisor", info.kind)
        if not isinstance(info.value, RunningSupervisor):
            raise NoProc(f"{self.path}/{id}")
        return info.value

    def pool(self, id: str) -> RunningPool:  # noqa: A002
        """The handle of a pool among the children.

        Raises NotFound where no pool has this id, NoProc while it does not run.
        """
        info = self.child(id)
        if info.kind != "pool":
            raise NotFound(self.path, id, "pool", info.kind)
        if not isinstance(info.value, RunningPool):
            raise NoProc(f"{self.path}/{id}", "pool")
        return info.value

    def events(self) -> EventStream:
        """What happens from now on here and below, as an async iterator; ends with this life."""
        return self._shell.world.hub.stream(self.path)

    # --- changing -------------------------------------------------------------------------

    async def start_child(self, child: ChildSpec) -> ChildInfo:
        """Add a child and start it; returns when it is started.

        A child that raised `Ignore` is added with the status `undefined`, a temporary one not at
        all. Raises AlreadyStarted, AlreadyPresent, BadCombination, MaxChildren, and
        FailedToStartChild, after which the child is forgotten.
        """
        info: ChildInfo = await self._shell.ask(StartChild(child))
        return info

    async def terminate_child(self, child: str | Ref) -> None:
        """Stop a child; returns when it is down. It stays known, unless it is temporary.

        It stays down, also when its siblings are restarted, until `restart_child`. A dynamic
        supervisor takes the `ref` of the child, and forgets it. Raises NotFound.
        """
        await self._shell.ask(TerminateChild(child))

    async def restart_child(self, id: str) -> ChildInfo:  # noqa: A002
        """Start a child that is known and does not run, in its old place.

        Raises NotFound, Running, Restarting, and FailedToStartChild, after which it stays known.
        """
        info: ChildInfo = await self._shell.ask(RestartChild(id))
        return info

    async def delete_child(self, id: str) -> None:  # noqa: A002
        """Forget a child that does not run. Raises NotFound, Running, Restarting."""
        await self._shell.ask(DeleteChild(id))

    async def reconfigure(
        self,
        *,
        strategy: Strategy | Unset = UNSET,
        restart: Restart | Unset = UNSET,
        auto_shutdown: AutoShutdown | Unset = UNSET,
        children: Iterable[ChildSpec] | Unset = UNSET,
        max_children: int | Unset | None = UNSET,
        extra_args: Iterable[Any] | Unset = UNSET,
    ) -> None:
        """Change settings for what happens from now on; nothing is started, stopped or restarted.

        `children` are put in the listed order and given their new settings; new ones are known
        and not started, those no longer listed stay behind the others. All or nothing: on
        BadCall, BadCombination or DuplicateChild the old settings stay. Lasts for this life: a
        supervisor that its parent starts again begins with its own specification.
        """
        if not isinstance(children, Unset):
            children = check_children(self.path, children)
        if not isinstance(extra_args, Unset):
            extra_args = check_arguments("extra_args", extra_args)
        await self._shell.ask(
            Reconfigure(strategy, restart, auto_shutdown, children, max_children, extra_args)
        )

    async def stop(self) -> None:
        """Stop all children in order, then the supervisor, with the exit `normal`.

        Returns when it is down; cancelling the caller does not stop that. A permanent supervisor
        is started again by its own.
        """
        self._entries()
        self._shell.post(Halt(Exit("normal")))
        await asyncio.wait([self._shell.ended])

    async def wait(self) -> None:
        """Return when the supervisor has ended. Cancelling touches only the caller.

        Raises what it ended with, if that was not in order: RestartLimitExceeded for example.
        """
        await asyncio.wait([self._shell.ended])
        ended = self._shell.outcome
        if ended is not None and ended.error is not None:
            raise ended.error

    # --- inside ---------------------------------------------------------------------------

    def _entries(self) -> dict[str, Entry]:
        if self._shell.outcome is not None:
            raise NoProc(self.path)
        return self._shell.machine.entries

    def _entry(self, id: str) -> Entry:  # noqa: A002
        return entry_in(self._entries(), id, self.path)

    def _known(self, entry: Entry) -> ChildInfo:
        machine = self._shell.machine
        return entry.known(self.path, machine.life, self._shell.world.clock.monotonic())

    def _seen(self, entry: Entry) -> ChildView:
        """A child and all below it, as plain data."""
        info = self._known(entry)
        now = datetime.fromtimestamp(self._shell.world.clock.now(), UTC)
        if isinstance(info.value, RunningPool):
            return child_view(info, now, None, info.value.info_or_none())
        if info.kind == "supervisor" and isinstance(info.value, RunningSupervisor):
            ended = info.value._shell.outcome is not None  # which may not be known here yet
            return child_view(info, now, None if ended else info.value.look(), None)
        return child_view(info, now, None, None)
