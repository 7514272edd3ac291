"""The Store protocol on a writer and a reader of one SQL schema."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from ..clock import Clock
from ..errors import StoreClosed, TaskNotFound
from ..interface import Alarm, Draft, LogPage, QueuePage, RecordedEvent, Share
from ..kin import BEGINNING, Asks, Place, Straggler
from ..mail import Asked, Mail, Recipient, Request
from ..pieces import Chunk
from ..records import EffectRow, Loaded, Status, StepRow, TaskRow, TreeRow
from ..schedules import ScheduleRow
from . import children, event_log, messages, overview, queries, schedules, streams, waits
from .epoch import Opening
from .executor import Executor
from .lanes import lanes
from .reader import Reader
from .strangers import queues, strangers
from .thread import to_the_end
from .upkeep import Upkeep
from .writer import Writer

__all__ = ["SqlStore"]


class SqlStore(ABC):
    """A store composed of a writer and a reader; the subclass says where the database is."""

    def __init__(self, path: str, *, clock: Clock, store_patience: float) -> None:
        self._path = path
        self._clock = clock
        self._patience = store_patience
        self._pid = 0
        self._why_closed = "it has not been opened"
        self._opening = Opening(0, 0)
        self._orderly_epochs: frozenset[int] = frozenset()
        self._writer: Writer | None = None
        self._reader: Reader | None = None
        self._closing: asyncio.Task[None] | None = None
        self._listeners: list[Callable[[Alarm | None], None]] = []

    def __repr__(self) -> str:
        state = f"epoch {self.epoch}" if self._writer else self._why_closed
        return f"<{type(self).__name__} {self._path}: {state}>"

    # --- life -------------------------------------------------------------------------------

    @abstractmethod
    async def open(self, *, tree: str | None = None) -> None:
        """Own the database under a new epoch. When it fails, nothing stays open."""

    @abstractmethod
    async def _disconnect(self, writer: Writer, reader: Reader) -> None:
        """Close what `open` opened, the reader first."""

    def _start(
        self, opening: Opening, writing: Executor, reading: Executor, upkeep: Upkeep
    ) -> None:
        """Begin to serve, on the running loop."""
        self._pid = os.getpid()
        self._opening = opening
        self._next_key = opening.next_key
        self._reader = Reader(self._path, reading, self._clock, self._patience)
        self._writer = Writer(
            self._path,
            writing,
            epoch=opening.epoch,
            clock=self._clock,
            patience=self._patience,
            upkeep=upkeep,
            listeners=self._listeners,
        )

    async def close(self) -> None:
        """Write what was submitted, then close readers, then the writer. Idempotent.

        A caller that is cancelled is only held up until all is closed.
        """
        if self._closing is None:
            if self._writer is None or self._reader is None:
                return
            self._check_process()
            self._closing = asyncio.create_task(self._close(self._writer, self._reader))
        await to_the_end(self._closing)

    async def _close(self, writer: Writer, reader: Reader) -> None:
        try:
            await writer.close()
        finally:
            self._why_closed = "it is closed"
            self._writer = self._reader = None
            self._listeners.clear()
            try:
                await self._disconnect(writer, reader)
            finally:
                self._closing = None

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise StoreClosed(
                self._path, "it was opened before a fork; open a store of its own in the child"
            )

    def _writing(self) -> Writer:
        if self._writer is None:
            raise StoreClosed(self._path, self._why_closed)
        self._check_process()
        return self._writer

    def _reading(self) -> Reader:
        if self._reader is None:
            raise StoreClosed(self._path, self._why_closed)
        self._check_process()
        return self._reader

    # --- writes -----------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """Number of this ownership of the store; raised by every opening."""
        return self._opening.epoch

    @property
    def orderly_epochs(self) -> frozenset[int]:
        """Epochs that stopped in order without being able to write it: their tasks live."""
        return self._orderly_epochs

    @property
    def path(self) -> str:
        """What its errors call it."""
        return self._path

    @property
    def is_ending(self) -> bool:
        """Whether the event loop is ending: whoever ends it has cancelled all that is on it."""
        return self._writer is not None and self._writer.is_ending

    @property
    def trouble(self) -> Alarm | None:
        """What keeps the store from committing just now; None when it commits."""
        return self._writer.trouble if self._writer else None

    def new_key(self) -> int:
        """A number for a new task, never given before."""
        self._writing()
        key = self._next_key
        self._next_key += 1
        return key

    def submit(self, draft: Draft) -> None:
        """Queue a draft; it is written with the next batch. Raises StoreClosed, StoreFailed."""
        self._writing().submit(draft)

    async def ready(self) -> None:
        """Return when there is no trouble. Raises StoreFailed when patience is over."""
        await self._writing().ready()

    def on_alarm(self, listener: Callable[[Alarm | None], None]) -> None:
        """Call `listener` on the loop when trouble begins, and with None when it has ended.

        Until the store is closed.
        """
        self._listeners.append(listener)

    # --- reads ------------------------------------------------------------------------------

    async def task(self, task_id: str) -> TaskRow | None:
        """The task of this id."""
        return await self._reading().run(partial(queries.task, task_id=task_id))

    async def named(self, ids: Collection[str]) -> list[TaskRow]:
        """The tasks that have these ids, in any order."""
        return await self._reading().run(partial(queries.named, ids=tuple(ids)))

    async def tasks(
        self,
        *,
        statuses: Collection[Status] = (),
        actors: Collection[str] = (),
        pool: str | None = None,
        lane: str | None = None,
        parent: int | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[TaskRow]:
        """Tasks by their key, those after key `after`; empty collections filter nothing."""
        return await self._reading().run(
            partial(
                queries.tasks,
                statuses=statuses,
                actors=actors,
                pool=pool,
                lane=lane,
                parent=parent,
                after=after,
                limit=limit,
            )
        )

    async def ids(self, keys: Collection[int]) -> dict[int, str]:
        """The ids of the tasks that have these keys."""
        return await self._reading().run(partial(children.ids, keys=keys))

    async def stragglers(
        self, asks: Asks, *, after: Place = BEGINNING, limit: int
    ) -> list[tuple[Place, Straggler]]:
        """Children that have not done yet what their parents ask, from a place on."""
        asked = partial(children.stragglers, asks=asks, after=after, limit=limit)
        return await self._reading().run(asked)

    async def lanes(
        self,
        pool: str,
        *,
        below: int | None = None,
        turns: Mapping[int, str | None],
        limit: int,
        deep: int,
    ) -> QueuePage:
        """Which lanes have queued tasks at the priorities below `below`; at most `limit` queues."""
        turns = dict(turns)
        return await self._reading().run(
            partial(lanes, pool=pool, below=below, turns=turns, limit=limit, deep=deep)
        )

    async def claimable(
        self,
        pool: str,
        shares: Sequence[Share],
        *,
        actors: Collection[str],
        now: float,
        since_boot: float | None,
        suspects_from: int,
    ) -> list[TaskRow]:
        """The oldest queued tasks of these actors that are due and no suspects, of each queue."""
        return await self._reading().run(
            partial(
                queries.claimable,
                pool=pool,
                shares=shares,
                actors=actors,
                now=now,
                since_boot=since_boot,
                suspects_from=suspects_from,
            )
        )

    async def suspects(
        self, pool: str, *, actors: Collection[str], suspects_from: int, limit: int
    ) -> list[TaskRow]:
        """Queued suspects of these actors, due or not: newest `death_epoch` first, then by key."""
        return await self._reading().run(
            partial(
                queries.suspects, pool=pool, actors=actors, suspects_from=suspects_from, limit=limit
            )
        )

    async def strangers(self, pool: str, *, actors: Collection[str]) -> dict[str, int]:
        """How many queued tasks there are of each actor that is none of these."""
        return await self._reading().run(partial(strangers, pool=pool, actors=actors))

    async def queues(self) -> dict[str, int]:
        """Names of the pools that have queued tasks, and how many."""
        return await self._reading().run(queues)

    async def orphans(self, *, after: int = 0, limit: int = 500) -> list[TaskRow]:
        """Tasks shown running, or waiting in memory, under an epoch before this one, by key."""
        return await self._reading().run(
            partial(queries.orphans, epoch=self.epoch, after=after, limit=limit)
        )

    async def open_steps(self, keys: Collection[int]) -> list[StepRow]:
        """Steps of these tasks whose newest attempt has begun and not ended (`open`)."""
        return await self._reading().run(partial(queries.open_steps, keys=keys))

    async def next_due(self, pool: str, *, now: float, since_boot: float | None) -> float | None:
        """Seconds until the first queued task of this pool that is not due yet falls due."""
        return await self._reading().run(
            partial(queries.next_due, pool=pool, now=now, since_boot=since_boot)
        )

    async def due_waits(
        self, pool: str, *, now: float, since_boot: float | None, limit: int
    ) -> list[TaskRow]:
        """Tasks out of memory whose first wait is due, the earliest of each clock first."""
        return await self._reading().run(
            partial(waits.due_waits, pool=pool, now=now, since_boot=since_boot, limit=limit)
        )

    async def next_wait(self, pool: str, *, now: float, since_boot: float | None) -> float | None:
        """Seconds until the first wait of a task out of memory falls due; 0 where one is."""
        return await self._reading().run(
            partial(waits.next_wait, pool=pool, now=now, since_boot=since_boot)
        )

    async def open_waits(self, keys: Collection[int]) -> list[StepRow]:
        """Rows without an outcome, in the present chapter, that fall due or hold a question."""
        return await self._reading().run(partial(waits.open_waits, keys=keys))

    async def messages(self, key: int, *, after: int = 0, limit: int = 200) -> list[Mail]:
        """Messages to a task that nobody has taken, those after a place, in order."""
        return await self._reading().run(
            partial(messages.messages, key=key, after=after, limit=limit)
        )

    async def questions(
        self, *, after: int = 0, limit: int = 100
    ) -> list[tuple[int, str, StepRow]]:
        """Questions that wait for an answer, as (place, id of the task, row), by their place."""
        return await self._reading().run(partial(messages.questions, after=after, limit=limit))

    async def question(self, key: int, identity: str) -> Asked:
        """What is known of a question."""
        return await self._reading().run(partial(messages.question, key=key, identity=identity))

    async def recipient(self, task_id: str) -> Recipient | None:
        """What one who sends must know of the receiver; None where there is no such task."""
        return await self._reading().run(partial(messages.recipient, task_id=task_id))

    async def request(self, key: int, message: str) -> Request:
        """What became of a message of this id. Raises TaskNotFound."""
        found = await self._reading().run(partial(messages.request, key=key, message=message))
        if found is None:
            raise TaskNotFound(f"#{key}")
        return found

    async def schedule(self, name: str) -> ScheduleRow | None:
        """The schedule of this name."""
        return await self._reading().run(partial(schedules.schedule, name=name))

    async def schedules(self, *, after: str = "", limit: int = 100) -> list[ScheduleRow]:
        """Schedules by name, those after a name."""
        return await self._reading().run(partial(schedules.schedules, after=after, limit=limit))

    async def due_schedules(self, *, now: float) -> list[str]:
        """Names of schedules that have an instant up to `now`, and of those in which some wait."""
        return await self._reading().run(partial(schedules.due, now=now))

    async def next_schedule(self, *, after: float) -> float | None:
        """The first instant after this one of all schedules that are not paused."""
        return await self._reading().run(partial(schedules.next_due, after=after))

    async def unended(self, keys: Collection[int]) -> dict[int, str]:
        """Those of these tasks that have not ended: their keys and ids, the oldest first."""
        return await self._reading().run(partial(schedules.unended, keys=tuple(keys)))

    async def load(self, key: int, *, flow: bool, recent: bool = False) -> Loaded:
        """Everything an incarnation needs. Raises TaskNotFound."""
        return await self._reading().load(key, flow, recent)

    async def steps(
        self, key: int, *, after: int = 0, limit: int = 1000
    ) -> list[tuple[int, StepRow]]:
        """Steps of all chapters with their row number, in the order in which they first began."""
        return await self._reading().run(partial(queries.steps, key=key, after=after, limit=limit))

    async def events(self, key: int, *, after: int = 0, limit: int = 100) -> list[RecordedEvent]:
        """Events of one task after its event number `after`."""
        read = partial(event_log.events, key=key, after=after, limit=limit)
        return await self._reading().run(read)

    async def log(
        self,
        *,
        after: int = 0,
        limit: int = 100,
        kinds: Collection[str] = (),
        actors: Collection[str] = (),
        pool: str | None = None,
    ) -> LogPage:
        """Events of all tasks after a position, in the order of their commits."""
        read = partial(
            event_log.log, after=after, limit=limit, kinds=kinds, actors=actors, pool=pool
        )
        return await self._reading().run(read)

    async def chunks(
        self, key: int, stream: str, *, after: int = 0, limit: int = 100
    ) -> list[Chunk]:
        """Pieces of a stream of a task, from the one after the offset `after` on."""
        read = partial(streams.chunks, key=key, stream=stream, after=after, limit=limit)
        return await self._reading().run(read)

    async def effects(self, key: int) -> list[EffectRow]:
        """Effects of a task, in the order of their intents."""
        return await self._reading().run(partial(queries.effects, key=key))

    async def tree(self) -> TreeRow | None:
        """The newest tree that the store was opened with."""
        return await self._reading().run(overview.tree)
