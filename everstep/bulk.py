"""Many tasks started by few commits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sized
from functools import partial
from typing import Final, cast

from pydantic_core import to_json

from .actors.actor import Actor
from .actors.errors import BadCall
from .actors.newborn import check_actor, newborn, queued
from .errors import NotStarted
from .ids import check_name, new_id
from .session import Session
from .starting import check_same
from .storage.births import Births
from .storage.errors import EverstepError, Superseded, TaskExists
from .storage.interface import Refusal
from .storage.record import record
from .storage.records import ChildRow, NewTask, TaskRow
from .submitting import submitted

__all__ = ["TOGETHER", "Bulk", "Terms", "paired"]

TOGETHER = 500
"""Tasks of one commit."""
_MOST_BYTES = 1_000_000
"""Bytes of state after which a commit takes no more tasks."""
_TURN = 25
"""Tasks that are made in one turn of the loop."""
_NONE: Final = object()


@record
class Terms:
    """What `start_many` was asked for besides the actors, checked."""

    pool: str
    priority: int
    lane: str | None


def paired(actors: object, ids: object) -> Iterator[tuple[object, object]]:
    """The actors with the ids that were given for them, or None; read as they are needed.

    Raises BadCall: at once where there is nothing to iterate over, or both sizes are known and
    differ; else where one of the two ends before the other.
    """
    given = _iterable("actors", actors, "[Report(topic=…), …]")
    if ids is None:
        return ((actor, None) for actor in given)
    names = _iterable("ids", ids, 'ids=["report-7", …]')
    if isinstance(given, Sized) and isinstance(names, Sized) and len(given) != len(names):
        raise _unequal(ids)
    return _zipped(given, names)


def _iterable(what: str, value: object, instead: str) -> Iterable[object]:
    if not isinstance(value, Iterable) or isinstance(value, Actor | str):
        raise BadCall(what, value, "is nothing to iterate over", instead)
    return cast("Iterable[object]", value)


def _zipped(actors: Iterable[object], ids: Iterable[object]) -> Iterator[tuple[object, object]]:
    rest = iter(ids)
    for actor in actors:
        task_id = next(rest, _NONE)
        if task_id is _NONE:
            raise _unequal(ids)
        yield actor, task_id
    if next(rest, _NONE) is not _NONE:
        raise _unequal(ids)


def _unequal(ids: object) -> BadCall:
    return BadCall("ids", ids, "has not one id for each actor", "as many ids as actors")


class Bulk:
    """One call of `start_many`: makes tasks of actors, and creates them some hundred at a time.

    Nothing is held of those that are through but their ids and keys.
    """

    def __init__(self, session: Session, terms: Terms) -> None:
        self._session = session
        self._terms = terms
        self._told: dict[type[Actor], bytes] = {}
        """What the log tells of the start of an actor of these classes, which are fit for it."""
        self._made: list[ChildRow] = []
        """What the next commit is to create."""
        self._size = 0
        self._named = False
        """Whether ids were given, under which tasks may exist."""
        self.started: list[tuple[str, int]] = []
        """The ids and keys of those that are durable."""

    async def run(self, pairs: Iterable[tuple[object, object]]) -> None:
        """Start them all. Raises NotStarted for one that cannot be, and what the store does.

        Whatever it raises, and when it is cancelled: those of whole commits are started, in order.
        """
        for actor, given in pairs:
            self._make(actor, given)
            if len(self._made) == TOGETHER or self._size >= _MOST_BYTES:
                await self._write()
            elif len(self._made) % _TURN == 0:
                await asyncio.sleep(0)
        if self._made:
            await self._write()

    def _make(self, actor: object, given: object) -> None:
        """Make the next task, in memory."""
        session, terms = self._session, self._terms
        try:
            checked = check_actor(actor, self._told)
            task_id = new_id(session.clock.now()) if given is None else check_name("id", given)
            born = newborn(
                session.environment,
                checked,
                task_id=task_id,
                pool=terms.pool,
                priority=terms.priority,
                lane=terms.lane,
                seed=session.new_seed(task_id),
            )
            self._made.append(queued(born, self._tell(type(checked), born.new.actor)))
        except EverstepError as error:
            raise self._refused(len(self._made), type(actor).__name__, error) from error
        self._named = self._named or given is not None
        self._size += len(born.first.state) + len(born.first.appends or b"")

    def _tell(self, actor: type[Actor], name: str) -> bytes:
        """What the log tells of a start; the runtime knows the class from now on."""
        told = self._told.get(actor)
        if told is None:
            self._session.catalogue.tell(actor)
            told = self._told[actor] = to_json({"actor": name})
        return told

    async def _write(self) -> None:
        """Create all that was made by one commit; of what exists only the keys are taken."""
        made = self._by_id()
        keys = await self._existing() if self._named else {}
        while fresh := tuple(one for name, one in made.items() if name not in keys):
            refusal = await self._created(Births(fresh, self._size))
            if refusal is None:
                keys |= {one.new.id: one.new.key for one in fresh}
                break
            if not isinstance(refusal, Superseded):
                raise refusal
            before, keys = keys, await self._existing()
            if keys == before:
                raise refusal
        self.started += [(one.new.id, keys[one.new.id]) for one in self._made]
        self._made, self._size = [], 0

    def _by_id(self) -> dict[str, ChildRow]:
        """What was made, each id once. Raises NotStarted where two of one id differ."""
        by_id: dict[str, ChildRow] = {}
        for place, one in enumerate(self._made):
            self._check_same(place, by_id.setdefault(one.new.id, one).new)
        return by_id

    async def _existing(self) -> dict[str, int]:
        """The keys of those that exist already. Raises NotStarted where one is another task."""
        rows = await self._session.store.named([one.new.id for one in self._made])
        stored = {row.id: row for row in rows}
        for place, one in enumerate(self._made):
            if one.new.id in stored:
                self._check_same(place, stored[one.new.id])
        return {row.id: row.key for row in rows}

    def _check_same(self, place: int, other: TaskRow | NewTask) -> None:
        asked = self._made[place].new
        try:
            check_same(other, asked)
        except TaskExists as error:
            raise self._refused(place, asked.actor, error) from error

    async def _created(self, births: Births) -> Refusal | None:
        """Create them; why that was refused, if it was. Cancelled, they may be created, all."""
        key = births.tasks[0].new.key
        told = partial(self._session.environment.woken, key)
        return await asyncio.shield(submitted(self._session, births, told))

    def _refused(self, place: int, actor: str, error: EverstepError) -> NotStarted:
        """The error for what was made at this place, or is just being made."""
        started = len(self.started)
        return NotStarted(started + place, actor, started, str(error))
