"""The writing side of a store: group commit.

One task owns the one connection that writes. It takes what has queued up, writes it in one
transaction as soon as the one before is done, and settles everyone in it. There is no window:
a slow disk makes batches by itself.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial

from ..clock import Clock
from ..errors import Refused, StoreClosed, StoreFailed
from ..interface import Alarm, Draft, Refusal
from .batch import Batch, write_batch, write_unless_committed, write_unless_synced
from .executor import Executor
from .statements import Write
from .thread import to_the_end
from .trouble import Pauses, alarm_of
from .upkeep import Upkeep

__all__ = ["MOST_SETTLED", "MOST_WRITES", "Writer"]

WriteBatch = Callable[[sqlite3.Connection, Batch], None]

MOST_WRITES = 256
MOST_SETTLED = 16
"""Drafts that are told in one turn of the loop what became of them."""
_MOST_BYTES = 4_000_000


class Writer:
    """Owns the writing connection. Belongs to one event loop."""

    def __init__(
        self,
        path: str,
        executor: Executor,
        *,
        epoch: int,
        clock: Clock,
        patience: float,
        upkeep: Upkeep,
        listeners: Sequence[Callable[[Alarm | None], None]],
    ) -> None:
        self._path = path
        self._executor = executor
        self._epoch = epoch
        self._clock = clock
        self._patience = patience
        self._upkeep = upkeep
        self._number = 0
        self._queue: deque[Draft] = deque()
        self._more = asyncio.Event()
        self._calm = asyncio.Event()
        self._calm.set()
        self._closing = False
        self._ended_early = False
        self._listeners = listeners
        self.trouble: Alarm | None = None
        self.failed = False
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._work(), name="everstep writer", context=Context())

    # --- called by the store --------------------------------------------------------------

    def submit(self, draft: Draft) -> None:
        """Queue a draft for the next batch. Raises StoreFailed, StoreClosed."""
        if self.failed:
            raise self._failure()
        if self._closing:
            raise StoreClosed(self._path, "it is closing, or its event loop is ending")
        if not self._queue:
            self._more.set()
        self._queue.append(draft)

    async def ready(self) -> None:
        """Return when nothing keeps the store from committing. Raises StoreFailed."""
        await self._calm.wait()
        if self.failed:
            raise self._failure()

    async def close(self) -> None:
        """Write what was submitted; settle it all, in the worst case with StoreFailed.

        The connection stays open. A cancelled caller is only held up until that is done.
        """
        self._close_now()
        await to_the_end(self._task)

    @property
    def is_ending(self) -> bool:
        """Whether its task was cancelled, which is true of all on the loop at the same moment."""
        return self._ended_early or self._task.cancelling() > 0

    @property
    def silenced(self) -> bool:
        """Whether its owner may have stopped in order without being able to write that down."""
        return self.failed or self._ended_early

    # --- the task -------------------------------------------------------------------------

    async def _work(self) -> None:
        """Write batches until closed. Cancelled, as the end of the loop alone does, it closes."""
        while not self._closing:
            try:
                await self._more.wait()
            except asyncio.CancelledError:
                self._loop_ends()
            self._more.clear()
            while self._queue and not self.failed:
                drafts, writes = self._seal()
                if writes:
                    await self._settle(drafts, await self._commit(writes))
            while self._queue:
                self._settle_one(self._queue.popleft(), self._failure())

    def _loop_ends(self) -> None:
        """Close after one more turn of the loop, in which others hand in what they have left."""
        self._ended_early = self._ended_early or not self._closing
        self._loop.call_soon(self._close_now)

    def _close_now(self) -> None:
        self._closing = True
        self._more.set()

    def _seal(self) -> tuple[list[Draft], list[Write]]:
        """Take a batch from the queue, up to the cap."""
        drafts: list[Draft] = []
        writes: list[Write] = []
        size = 0
        queue = self._queue
        while queue and len(writes) < MOST_WRITES and size < _MOST_BYTES:
            draft = queue.popleft()
            try:
                write = draft.seal()
            except Exception as error:  # noqa: BLE001  the writer must outlive any draft
                self._report(draft, error)
                self._settle_one(draft, _refusal(error))
                continue
            if write is None:
                self._settle_one(draft, None)
                continue
            drafts.append(draft)
            writes.append(write)
            size += write.size
        return drafts, writes

    async def _commit(self, writes: Sequence[Write]) -> Sequence[Refusal | None]:
        """What became of each write, once that is known."""
        self._number += 1
        batch = Batch(self._epoch, self._number, writes)
        try:
            await self._executor.run(partial(self._write, write_batch, batch))
        except asyncio.CancelledError:
            self._loop_ends()
            return await self._find_out(batch, write_unless_committed, patience=0)
        except Exception as error:  # noqa: BLE001  any of them leaves the outcome unknown
            self._begin_trouble(error)
            return await self._find_out(batch, write_unless_synced, self._patience)
        return batch.refusals

    def _write(self, write: WriteBatch, batch: Batch, connection: sqlite3.Connection) -> None:
        """Write a batch, with what is to be done around each. Called in the writing thread."""
        self._upkeep.before()
        write(connection, batch)
        self._upkeep.after(connection)

    async def _find_out(
        self, batch: Batch, write: WriteBatch, patience: float
    ) -> Sequence[Refusal | None]:
        """Read whether a batch was committed, and write it again if not, until patience is over."""
        again = partial(self._write, write, batch)
        pauses = Pauses(self._clock, patience)
        while True:
            try:
                if not await pauses.next():
                    break
                await self._executor.reopen()
                await self._executor.run(again)
            except asyncio.CancelledError:
                self._loop_ends()
                pauses.end()
            except Exception as error:  # noqa: BLE001  any of them leaves the outcome unknown
                self._change_trouble(error)
            else:
                self._end_trouble()
                return batch.refusals
        self.failed = True
        self._calm.set()
        return [self._failure()] * len(batch.writes)

    # --- trouble --------------------------------------------------------------------------

    def _begin_trouble(self, error: Exception) -> None:
        self._calm.clear()
        self._change_trouble(error)
        self._tell(self.trouble)

    def _change_trouble(self, error: Exception) -> None:
        self.trouble = alarm_of(error)

    def _end_trouble(self) -> None:
        if self.trouble is not None:
            self.trouble = None
            self._calm.set()
            self._tell(None)

    def _tell(self, alarm: Alarm | None) -> None:
        for listener in self._listeners:
            try:
                listener(alarm)
            except Exception as error:  # noqa: BLE001  the writer must outlive any listener
                self._report(listener, error)

    def _failure(self) -> StoreFailed:
        what = self.trouble.what if self.trouble else "its event loop ended during a commit"
        return StoreFailed(self._path, what)

    # --- drafts ---------------------------------------------------------------------------

    async def _settle(self, drafts: Sequence[Draft], refusals: Sequence[Refusal | None]) -> None:
        """Tell what became of each: a few in one turn of the loop, or their owners would fill it.

        All before the next batch is sealed: what is sealed stands on what was settled. A turn after
        the last, so that those who were just told have their next drafts in that batch.
        """
        for number, (draft, refusal) in enumerate(zip(drafts, refusals, strict=True), start=1):
            self._settle_one(draft, refusal)
            if number % MOST_SETTLED == 0 or number == len(drafts):
                await self._let_others()

    async def _let_others(self) -> None:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._loop_ends()

    def _settle_one(self, draft: Draft, refusal: Refusal | None) -> None:
        try:
            draft.settle(refusal)
        except Exception as error:  # noqa: BLE001  the writer must outlive any draft
            self._report(draft, error)

    def _report(self, culprit: object, error: Exception) -> None:
        self._loop.call_exception_handler(
            {"message": f"called by the store, this failed: {culprit!r}", "exception": error}
        )


def _refusal(error: Exception) -> Refused:
    """As what a draft is settled that could not be sealed."""
    if isinstance(error, Refused):
        return error
    return Refused("?", f"it could not be sealed: {error!r}")
