"""Writes that are finished when they are handed to the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .actors.foreign import twice_on_fault
from .session import Session
from .storage.interface import Refusal, Write

__all__ = ["submitted"]


def submitted(
    session: Session, write: Write, on_commit: Callable[[], None]
) -> asyncio.Future[Refusal | None]:
    """Hand a write to the store; a future of why it was refused, if it was.

    `on_commit` is called on the loop where it was not, whoever waits for the future.
    """
    draft = _Draft(session, write, on_commit)
    session.store.submit(draft)
    return draft.settled


class _Draft:
    def __init__(self, session: Session, write: Write, on_commit: Callable[[], None]) -> None:
        self._write = write
        self._on_commit = on_commit
        self.settled: asyncio.Future[Refusal | None] = session.loop.create_future()

    def seal(self) -> Write:
        return self._write

    def settle(self, refusal: Refusal | None) -> None:
        try:
            if refusal is None:
                twice_on_fault("a commit of %r was told twice", self._write, self._on_commit)
        finally:
            if not self.settled.done():
                self.settled.set_result(refusal)
