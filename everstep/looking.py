"""What a runtime tells of all its tasks: lists, questions to people, and the log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection

from .actors.actor import Actor
from .checking import actor_names, kinds_of, limit_of, name_or_none, place_of
from .event_stream import LogStream
from .inbox import Question, open_questions
from .listing import listed
from .reading import Event, TaskInfo
from .session import Session
from .storage.records import Status

__all__ = ["Looking"]


class Looking(ABC):
    """The part of a runtime that only reads. Every method raises RuntimeClosed outside."""

    async def tasks(
        self,
        *,
        status: Status | Collection[Status] | None = None,
        actor: str | type[Actor] | None = None,
        pool: str | None = None,
        lane: str | None = None,
        parent: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[TaskInfo]:
        """Tasks in the order in which they were started, at most `limit`.

        `after` is the id of the last one seen, for the next page; `parent` that of the task that
        started them. Raises TaskNotFound for either.
        """
        return await listed(
            self._open(),
            status=status,
            actor=actor,
            pool=pool,
            lane=lane,
            parent=parent,
            after=after,
            limit=limit_of(limit),
        )

    async def inbox(self, *, after: int = 0, limit: int = 100) -> list[Question]:
        """Questions that wait for a person, those after a number, in the order of asking."""
        return await open_questions(self._open(), place_of("after", after), limit_of(limit))

    def events(
        self,
        *,
        after: int = 0,
        follow: bool = False,
        kind: str | Collection[str] | None = None,
        actor: str | type[Actor] | None = None,
        pool: str | None = None,
    ) -> AsyncIterator[Event]:
        """The log of all tasks after a position, without gaps, in the one order of its commits.

        `event.position` of the last one seen is the cursor: it holds over restarts, and for any
        filter. With `follow` it waits for more, and raises RuntimeClosed when the runtime is left.
        Leaving the loop, or being cancelled, leaves nothing behind; a reader that is slow holds up
        nobody.
        """
        return LogStream(
            self._open(),
            place_of("after", after),
            follow,
            kinds=kinds_of(kind),
            actors=actor_names(actor),
            pool=name_or_none("pool", pool),
        )

    @abstractmethod
    def _open(self) -> Session:
        """What exists while it is entered. Raises RuntimeClosed."""
