"""`Runtime`: opens a store, recovers, runs tasks, and hands out their handles."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Callable, Collection, Iterable
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from .actors.actor import Actor
from .actors.environment import Environment
from .actors.foreign import exc_info_of, words_of
from .actors.ledger import Ledger
from .actors.offspring import Flow
from .actors.threads import Threads
from .actors.values import Limits
from .checking import (
    actor_class,
    actors_of,
    count_of,
    durability_of,
    path_of,
    seconds_of,
    tree_of,
)
from .commits import Commits
from .errors import RuntimeClosed
from .ids import check_name
from .looking import Looking
from .scheduler import Scheduler
from .schedules import Schedules
from .server import Server, make_sure, server_of
from .session import Session
from .shepherd import Shepherd
from .starts import Starts
from .stopping import see_through
from .storage.clock import Clock, SystemClock
from .storage.interface import Store
from .storage.sqlite import Durability
from .stores import store_of
from .supervisor.catalogue import Catalogue
from .supervisor.errors import RestartLimitExceeded
from .supervisor.pool_spec import Pool
from .supervisor.pools import Pools
from .supervisor.services.events import Hub
from .supervisor.services.handle import RunningSupervisor
from .supervisor.services.leftovers import bury
from .supervisor.services.outline import outline
from .supervisor.services.running import Supervision
from .supervisor.services.spec import DynamicSupervisor, Supervisor, pools_of
from .supervisor.services.world import World
from .supervisor.waiting import all_done
from .supervisor.watchdog import check_blocked_after
from .task import Task

__all__ = ["Runtime"]

A = TypeVar("A", bound=Actor)
R = TypeVar("R")

_LOG = logging.getLogger("everstep")
_CLEANUP = 5.0
_CLOSING = 10.0
"""Seconds in which the store must have closed."""


class Runtime(Starts, Looking, Schedules):
    """Runs durable tasks while it is entered; their store is `path`, or ":memory:".

    - `actors`: the classes it may run; by default all that exist when it looks.
    - `tree`: supervisors, services and the pools that run the tasks; without one, one pool "tasks".
    - `durability`: "full" survives a power cut, "normal" the death of the process.
    - `wait`: seconds to wait for a file that another process owns.
    - `grace`: seconds that running steps get to reach their checkpoint when it is left.
    - `idle_after`: seconds that a task in durable waits stays in memory; it holds no slot there.
    - `mailbox`: how many messages may lie before a task that it has not taken.
    - `store_patience`: seconds the store may be unable to commit before the runtime stops.
    - `allow_network_fs`: accept a file system whose locks cannot be trusted.
    - `limits`: sizes in bytes that no value and no state may exceed.
    - `blocked_after`: seconds of real time after which code that blocks the loop is named in the
      log, and in the events of its task; None for never.
    - `debug`: fail a step that changed an item of a Log after it was written; costs time.
    - `clock`, `chance`, `store`: what a test injects.

    Leaving it starts nothing new, waits `grace` for the steps that run, cuts and gives back what
    is left, and closes the store last; cancelled meanwhile it still does all of that, the second
    time without the grace. If the store fails, the body is cancelled and the failure raised.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        actors: Iterable[type[Actor]] | None = None,
        tree: Supervisor | DynamicSupervisor | Pool | None = None,
        durability: Durability = "full",
        wait: float = 0,
        grace: float = 10,
        idle_after: float = 10,
        mailbox: int = 1000,
        store_patience: float = 60,
        allow_network_fs: bool = False,
        limits: Limits | None = None,
        blocked_after: float | None = 1.0,
        debug: bool = False,
        clock: Clock | None = None,
        chance: Callable[[], float] | None = None,
        store: Store | None = None,
    ) -> None:
        self.path = path_of(path)
        self.grace = seconds_of("grace", grace)
        self._idle_after = seconds_of("idle_after", idle_after)
        self._mailbox = count_of("mailbox", mailbox)
        self._actors = actors_of(actors)
        self._tree = tree_of(tree)
        self._limits = limits or Limits()
        check_blocked_after(blocked_after)
        self._blocked_after = blocked_after
        self._debug = debug
        self._clock: Clock = clock or SystemClock()
        self._chance = chance
        self._store: Store = store or store_of(
            self.path,
            clock=self._clock,
            durability=durability_of(durability),
            wait=seconds_of("wait", wait),
            store_patience=seconds_of("store_patience", store_patience),
            allow_network_fs=allow_network_fs,
        )
        self._session: Session | None = None
        self._outside = "it is not entered"

    def __repr__(self) -> str:
        state = repr(self._session.pools) if self._session else "closed"
        return f"<Runtime {self.path}: {state}>"

    # --- entering and leaving -------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._session is not None:
            raise RuntimeClosed(self.path, "it is entered already; make a second Runtime")
        session = self._opened()
        await self._store.open(tree=outline(self._tree).encoded())
        self._session = session  # services of the tree may start tasks
        try:
            await session.supervision.__aenter__()
        except BaseException:
            self._session = None
            session.closed = "it was not entered: its tree did not start"
            await see_through(partial(self._close, session))
            raise
        session.shepherd.start()
        session.scheduler.start()
        return self

    def _opened(self) -> Session:
        environment = self._environment()
        catalogue, commits = Catalogue(self._actors), Commits()
        known = (pool for _, pool in pools_of(self._tree, self._tree.name))

        def names_of_tree() -> Collection[str]:
            return supervision.pool_names()

        def failed(error: Exception) -> None:
            self._fail(session, error)

        pools = Pools(
            environment,
            catalogue,
            known,
            names_of_tree=names_of_tree,
            on_store_failure=failed,
        )

        def committed(ledger: Ledger) -> None:
            pools.committed(ledger)
            commits.told(ledger)
            session.scheduler.committed(ledger)

        def woken(key: int) -> None:
            pools.woken()
            commits.woken(key)

        environment.on_commit, environment.on_woken = committed, woken
        environment.make_sure = lambda actor, name: make_sure(self._open(), actor, name)
        world = World(self._clock, environment.chance, Hub(None), pools)
        supervision = Supervision(self._tree, world, self._blocked_after)
        session = Session(
            path=self.path,
            environment=environment,
            catalogue=catalogue,
            commits=commits,
            pools=pools,
            supervision=supervision,
            loop=asyncio.get_running_loop(),
            chance=self._chance,
        )
        environment.check_child = session.check_child
        session.shepherd = Shepherd(session, on_failure=failed)
        environment.on_turned = session.shepherd.look
        session.scheduler = Scheduler(session, failed)
        return session

    def _environment(self) -> Environment:
        return Environment(
            store=self._store,
            clock=self._clock,
            chance=self._chance or random.random,
            threads=Threads(),
            limits=self._limits,
            debug=self._debug,
            cleanup=_CLEANUP,
            grace=self.grace,
            idle_after=self._idle_after,
            mailbox=self._mailbox,
        )

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        session, self._session = self._open(), None
        if session.closed is None:
            session.closed = "it was left"
            session.drain(self.grace, _CLEANUP)
        self._outside = session.closed
        try:
            await session.supervision.__aexit__(kind, error, traceback)
        except RestartLimitExceeded as given_up:
            self._outside = f"its tree gave up: {given_up}"
            raise
        finally:
            cancelled = await see_through(partial(self._close, session))
        if cancelled is not None:
            raise cancelled

    async def _close(self, session: Session) -> None:
        """What comes when the tree is down, each stage bounded. Cancelled, it may be run again."""
        await session.shepherd.stop()
        await session.scheduler.closed()
        await session.pools.closed(_CLOSING)
        for cut_off in (*session.environment.severed, *session.pools.graveyard):
            bury(cut_off)
        session.commits.close(RuntimeClosed(self.path, session.closed or "it was left"))
        session.environment.threads.close()
        closing = asyncio.ensure_future(self._store.close())
        if not await all_done(self._clock, [closing], _CLOSING):
            _LOG.error("late when the runtime stopped: the store %s is still closing", self.path)
            return
        closing.result()

    def _fail(self, session: Session, error: Exception) -> None:
        """The store has failed, or we have: stop in order, and let the body know."""
        session.supervision.fail(error)
        if session.closed is not None:
            return  # it is being left, which raises the error in the end
        what = "the runtime of %s stops: %s"
        _LOG.critical(what, self.path, words_of(error), exc_info=exc_info_of(error))
        session.closed = f"it has failed: {words_of(error)}"
        session.commits.close(RuntimeClosed(self.path, session.closed))
        session.drain(0, _CLEANUP)

    # --- tasks ----------------------------------------------------------------------------------

    def get(
        self,
        actor: type[A],
        id: str,  # noqa: A002  the word of `start`
        initial: A | None = None,
        /,
        *,
        pool: str | None = None,
    ) -> Server[A]:
        """The handle of a server, which its first message creates: from `initial`, or defaults.

        Raises BadCall, BadActor.
        """
        return server_of(self._open, actor, id, initial, pool)

    @property
    def tree(self) -> RunningSupervisor:
        """The root of what runs: looks at it, and manages it. Raises RuntimeClosed outside."""
        return self._open().supervision.handle

    @overload
    def task(self, task_id: str, /) -> Task[Any]: ...
    @overload
    def task(self, task_id: str, actor: type[Flow[R]], /) -> Task[R]: ...
    @overload
    def task(self, task_id: str, actor: type[Actor], /) -> Task[Any]: ...
    def task(self, task_id: str, actor: type[Any] | None = None, /) -> Task[Any]:
        """The handle of a task, which is not looked for until it is used.

        `actor` types the result, and makes its class known.
        """
        if actor is not None:
            self._open().catalogue.tell(actor_class(actor, "task(task_id, Report)"))
        return Task(self._open, check_name("task_id", task_id))

    def _open(self) -> Session:
        if self._session is None:
            raise RuntimeClosed(self.path, self._outside)
        return self._session
