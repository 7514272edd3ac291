"""A store in memory, for tests and for work that need not last."""

from __future__ import annotations

import sqlite3
import weakref

from .clock import Clock
from .errors import StoreClosed
from .sqlite.base import SqlStore
from .sqlite.epoch import leave_tree, take_over
from .sqlite.executor import InlineExecutor
from .sqlite.reader import Reader
from .sqlite.schema import migrate
from .sqlite.upkeep import NoUpkeep
from .sqlite.writer import Writer

__all__ = ["MemoryStore"]


class MemoryStore(SqlStore):
    """The same tables and statements as in a file, in memory and without a thread.

    What it holds outlives `close`: opened again, it is like a file that a new process opens, under
    a new epoch. It is gone with the object, or with `discard`.
    """

    def __init__(self, *, clock: Clock, store_patience: float = 60) -> None:
        super().__init__(":memory:", clock=clock, store_patience=store_patience)
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._closer = weakref.finalize(self, self._connection.close)

    async def open(self, *, tree: str | None = None) -> None:
        """Own what is in memory under a new epoch. Raises StoreClosed once it is discarded."""
        if not self._closer.alive:
            raise StoreClosed(self._path, "it has been discarded")
        migrate(self._connection)
        executor = InlineExecutor(self._connection)
        taken = take_over(self._connection, self._clock)
        if tree is not None:
            leave_tree(self._connection, self._clock, taken, tree)
        self._start(taken, executor, executor, NoUpkeep())

    async def _disconnect(self, writer: Writer, reader: Reader) -> None:
        await reader.close()
        if writer.silenced:
            self._orderly_epochs |= {self.epoch}

    def discard(self) -> None:
        """Free what it holds. Only when it is closed."""
        self._closer()
