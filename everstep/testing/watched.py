"""A store that passes a boundary before each write, and another when the write is durable."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..storage.births import Births
from ..storage.errors import StoreFailed
from ..storage.interface import (
    Alarm,
    Draft,
    LogPage,
    QueuePage,
    RecordedEvent,
    Refusal,
    Share,
    Store,
    Write,
)
from ..storage.kin import BEGINNING, Asks, Place, Straggler
from ..storage.mail import Asked, Mail, Post, Recipient, Request
from ..storage.pieces import Chunk
from ..storage.records import (
    EffectRow,
    EventRow,
    Loaded,
    Receipt,
    Status,
    StepRow,
    TaskRow,
    TreeRow,
)
from ..storage.schedules import ScheduleChange, ScheduleRow
from .life import Died, Life

__all__ = ["WatchedStore"]


class _WatchedDraft:
    """A draft whose write is a pair of boundaries. Where its life ended, nothing is written."""

    __slots__ = ("_draft", "_life", "_write")

    def __init__(self, draft: Draft, life: Life) -> None:
        self._draft = draft
        self._life = life
        self._write: Write | None = None

    def seal(self) -> Write | None:
        if self._life.dead:
            return None
        self._write = self._draft.seal()
        if self._write is not None:
            try:
                self._life.boundary(f"before {_named(self._write)}")
            except Died:
                return None
        return self._write

    def settle(self, refusal: Refusal | None) -> None:
        if refusal is None and self._write is not None and not self._life.dead:
            self._tell(self._write)
            try:
                self._life.boundary(f"after {_named(self._write)}")
            except Died:
                pass
        self._draft.settle(_gone() if self._life.dead else refusal)

    def _tell(self, write: Write) -> None:
        """Put on the trail what is now in the store."""
        task = write.task_id
        if isinstance(write, Receipt):
            self._life.durable("receipt", task=task, operation=write.effect.operation)
            return
        if isinstance(write, Post):
            self._life.durable("message", task=task, id=write.message.id)
            return
        if isinstance(write, ScheduleChange):
            self._life.durable("schedule", name=write.name)
            return
        if isinstance(write, Births):
            for born in write.tasks:
                self._tell_events(born.new.id, [born.event])
            return
        self._tell_events(task, write.events)

    def _tell_events(self, task: str, events: Iterable[EventRow]) -> None:
        for event in events:
            data: dict[str, Any] = {} if event.data is None else json.loads(event.data)
            self._life.durable(event.kind, task=task, step=event.step, number=event.seq, data=data)


class WatchedStore:
    """A store of a life under test, by delegation. Once the life has ended it takes no write."""

    def __init__(self, store: Store, life: Life) -> None:
        self._store = store
        self._life = life

    @property
    def path(self) -> str:
        return self._store.path

    @property
    def epoch(self) -> int:
        return self._store.epoch

    @property
    def orderly_epochs(self) -> frozenset[int]:
        return self._store.orderly_epochs

    @property
    def is_ending(self) -> bool:
        return self._store.is_ending

    @property
    def trouble(self) -> Alarm | None:
        return self._store.trouble

    async def open(self, *, tree: str | None = None) -> None:
        await self._store.open(tree=tree)

    async def close(self) -> None:
        await self._store.close()

    def new_key(self) -> int:
        return self._store.new_key()

    def submit(self, draft: Draft) -> None:
        if self._life.dead:
            raise _gone()
        self._store.submit(_WatchedDraft(draft, self._life))

    async def ready(self) -> None:
        await self._store.ready()

    def on_alarm(self, listener: Callable[[Alarm | None], None]) -> None:
        self._store.on_alarm(listener)

    async def task(self, task_id: str) -> TaskRow | None:
        return await self._store.task(task_id)

    async def named(self, ids: Collection[str]) -> list[TaskRow]:
        return await self._store.named(ids)

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
        return await self._store.tasks(
            statuses=statuses,
            actors=actors,
            pool=pool,
            lane=lane,
            parent=parent,
            after=after,
            limit=limit,
        )

    async def ids(self, keys: Collection[int]) -> dict[int, str]:
        return await self._store.ids(keys)

    async def stragglers(
        self, asks: Asks, *, after: Place = BEGINNING, limit: int
    ) -> list[tuple[Place, Straggler]]:
        return await self._store.stragglers(asks, after=after, limit=limit)

    async def lanes(
        self,
        pool: str,
        *,
        below: int | None = None,
        turns: Mapping[int, str | None],
        limit: int,
        deep: int,
    ) -> QueuePage:
        return await self._store.lanes(pool, below=below, turns=turns, limit=limit, deep=deep)

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
        return await self._store.claimable(
            pool,
            shares,
            actors=actors,
            now=now,
            since_boot=since_boot,
            suspects_from=suspects_from,
        )

    async def suspects(
        self, pool: str, *, actors: Collection[str], suspects_from: int, limit: int
    ) -> list[TaskRow]:
        return await self._store.suspects(
            pool, actors=actors, suspects_from=suspects_from, limit=limit
        )

    async def strangers(self, pool: str, *, actors: Collection[str]) -> dict[str, int]:
        return await self._store.strangers(pool, actors=actors)

    async def queues(self) -> dict[str, int]:
        return await self._store.queues()

    async def orphans(self, *, after: int = 0, limit: int = 500) -> list[TaskRow]:
        return await self._store.orphans(after=after, limit=limit)

    async def open_steps(self, keys: Collection[int]) -> list[StepRow]:
        return await self._store.open_steps(keys)

    async def next_due(self, pool: str, *, now: float, since_boot: float | None) -> float | None:
        return await self._store.next_due(pool, now=now, since_boot=since_boot)

    async def due_waits(
        self, pool: str, *, now: float, since_boot: float | None, limit: int
    ) -> list[TaskRow]:
        return await self._store.due_waits(pool, now=now, since_boot=since_boot, limit=limit)

    async def next_wait(self, pool: str, *, now: float, since_boot: float | None) -> float | None:
        return await self._store.next_wait(pool, now=now, since_boot=since_boot)

    async def open_waits(self, keys: Collection[int]) -> list[StepRow]:
        return await self._store.open_waits(keys)

    async def messages(self, key: int, *, after: int = 0, limit: int = 200) -> list[Mail]:
        return await self._store.messages(key, after=after, limit=limit)

    async def questions(
        self, *, after: int = 0, limit: int = 100
    ) -> list[tuple[int, str, StepRow]]:
        return await self._store.questions(after=after, limit=limit)

    async def question(self, key: int, identity: str) -> Asked:
        return await self._store.question(key, identity)

    async def recipient(self, task_id: str) -> Recipient | None:
        return await self._store.recipient(task_id)

    async def request(self, key: int, message: str) -> Request:
        return await self._store.request(key, message)

    async def schedule(self, name: str) -> ScheduleRow | None:
        return await self._store.schedule(name)

    async def schedules(self, *, after: str = "", limit: int = 100) -> list[ScheduleRow]:
        return await self._store.schedules(after=after, limit=limit)

    async def due_schedules(self, *, now: float) -> list[str]:
        return await self._store.due_schedules(now=now)

    async def next_schedule(self, *, after: float) -> float | None:
        return await self._store.next_schedule(after=after)

    async def unended(self, keys: Collection[int]) -> dict[int, str]:
        return await self._store.unended(keys)

    async def load(self, key: int, *, flow: bool, recent: bool = False) -> Loaded:
        return await self._store.load(key, flow=flow, recent=recent)

    async def steps(
        self, key: int, *, after: int = 0, limit: int = 1000
    ) -> list[tuple[int, StepRow]]:
        return await self._store.steps(key, after=after, limit=limit)

    async def events(self, key: int, *, after: int = 0, limit: int = 100) -> list[RecordedEvent]:
        return await self._store.events(key, after=after, limit=limit)

    async def log(
        self,
        *,
        after: int = 0,
        limit: int = 100,
        kinds: Collection[str] = (),
        actors: Collection[str] = (),
        pool: str | None = None,
    ) -> LogPage:
        return await self._store.log(
            after=after, limit=limit, kinds=kinds, actors=actors, pool=pool
        )

    async def chunks(
        self, key: int, stream: str, *, after: int = 0, limit: int = 100
    ) -> list[Chunk]:
        return await self._store.chunks(key, stream, after=after, limit=limit)

    async def effects(self, key: int) -> list[EffectRow]:
        return await self._store.effects(key)

    async def tree(self) -> TreeRow | None:
        return await self._store.tree()


def _named(write: Write) -> str:
    """What a write says, in few words: the events in it."""
    if isinstance(write, Receipt):
        return f"{write.task_id}: late receipt of {write.effect.key}"
    if isinstance(write, Post):
        return f"{write.task_id}: message {write.message.id}"
    if isinstance(write, ScheduleChange):
        return f"{write.task_id} changes"
    if isinstance(write, Births):
        return f"{write.task_id}: {len(write.tasks)} tasks"
    events = [event.kind + (f" {event.step}" if event.step else "") for event in write.events[:4]]
    return f"{write.task_id}: {', '.join(events) or 'no event'}"


def _gone() -> StoreFailed:
    return StoreFailed("the store", "the life that used it has ended")
