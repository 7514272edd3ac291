"""Streams of a task: the pieces that its steps wrote, read in pages and followed as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_core import from_json

from .followed import FollowedTask
from .session import Session
from .storage.pieces import Chunk
from .storage.record import record

__all__ = ["Piece", "PieceStream"]

_PAGE = 20


@record
class Piece:
    """One piece of a stream, and which attempt of which step wrote it."""

    offset: int
    """Its place in the stream, from 1 without gaps: the cursor from which reading goes on."""
    step: str
    """Identity of the step."""
    attempt: int
    """Which attempt of the step wrote it, counted from 1 over the whole life of the task."""
    first: bool
    """It is the first of its attempt: what the step wrote before is void, a reader forgets it."""
    data: Any


class PieceStream(FollowedTask[Piece]):
    """Iterates over the pieces of a stream, in the order in which they were stored."""

    def __init__(self, session: Session, task_id: str, name: str, after: int, follow: bool) -> None:
        super().__init__(session, task_id, follow)
        self._name = name
        self._after = after

    async def _next(self) -> Iterable[Piece]:
        key, store = await self._key(), self._session.store
        found = await store.chunks(key, self._name, after=self._after, limit=_PAGE)
        return (piece for chunk in found for piece in _pieces_of(chunk, self._after))

    def _passed(self, item: Piece) -> None:
        self._after = item.offset


def _pieces_of(chunk: Chunk, after: int) -> Iterator[Piece]:
    """The pieces of a chunk that come after an offset."""
    begin = chunk.last - chunk.length + 1
    for offset, data in enumerate(from_json(chunk.pieces), begin):
        if offset > after:
            fresh = bool(chunk.fresh) and offset == begin
            yield Piece(offset, chunk.step, chunk.serial, fresh, data)
