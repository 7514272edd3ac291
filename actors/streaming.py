"""Streams: many small pieces that a step writes on its way, such as the tokens of a model.

They are no part of the step's checkpoint: readers see what an attempt writes while it is in the
air, and it stays, marked with the attempt, when that fails.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from ..storage.clock import Timer
from ..storage.errors import EverstepError
from ..storage.pieces import ChunkRow
from .errors import PayloadTooLarge, StreamFull
from .values import ValueCodec

if TYPE_CHECKING:
    from .attempt import Attempt

__all__ = ["Stream"]

_SECONDS = 0.05
"""How long pieces are gathered before they are handed to the store."""
_GATHERED = 1 << 16
"""Bytes that are not gathered longer."""
_MOST_UNWRITTEN = 4 << 20
"""Bytes that may lie before the store."""


class Stream:
    """Where an attempt of a step writes many small pieces: `self.ctx.stream("tokens")`.

    The pieces of all attempts and steps that write to one name come in the order in which they
    are stored, and `task.stream("tokens")` reads them. They are gathered for 50 ms, or 64 KiB,
    and ride with the task's next commit: what was written is in the store that long and one
    commit later, whether the attempt succeeds or fails; a death takes no more than that.
    """

    __slots__ = (
        "_armed",
        "_attempt",
        "_begun",
        "_gathered",
        "_json",
        "_landed",
        "_loop",
        "_pieces",
        "_text",
        "_timer",
        "_where",
        "_written",
        "name",
    )

    def __init__(self, attempt: Attempt, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self.name = name
        self._attempt = attempt
        self._loop = loop
        self._where = f"a piece of the stream {name}"
        self._text, self._json = ValueCodec.of(str), ValueCodec.of(Any)
        self._pieces: list[bytes] = []
        self._gathered = 0
        self._written = 0
        """Bytes that were written to it by this attempt."""
        self._landed = 0
        """Of those, how many are in the store."""
        self._armed = False
        """What was gathered is about to be handed over."""
        self._begun = False
        self._timer: Timer | None = None

    def __repr__(self) -> str:
        return f"<Stream {self.name!r} of {self._attempt.identity}>"

    def write(self, piece: object) -> None:
        """Add a piece, a text or other plain JSON, without waiting. A thread's step may, too.

        Raises:
            StaleAttempt, StaleIncarnation: the attempt, or this life of the task, has ended.
            StreamFull: the store is far behind; `await drain()` now and then.
            NotSerializable: it is no plain JSON.
            PayloadTooLarge: it, or all that the attempt wrote, is over the limit.
        """
        self._attempt.check_open()
        self._attempt.life.check_fenced()
        limits = self._attempt.life.limits
        codec = self._text if type(piece) is str else self._json
        data = codec.encode(piece, self._where, limits)
        size = len(data) + 1
        if self._written + size > limits.stream:
            where = f"what an attempt of {self._attempt.identity} wrote to the stream {self.name}"
            raise PayloadTooLarge(where, self._written + size, limits.stream)
        if self._written + size - self._landed > _MOST_UNWRITTEN:
            raise StreamFull(self.name, self._attempt.identity, _MOST_UNWRITTEN)
        self._written += size
        self._pieces.append(data)
        self._gathered += size
        if not self._armed:  # looked at after the piece is there: a thread may be writing
            self._armed = True
            self._loop.call_soon_threadsafe(self._arm)
        elif self._gathered > _GATHERED:
            self._gathered = 0
            self._loop.call_soon_threadsafe(self.flush)

    async def drain(self) -> None:
        """Return when all that was written is in the store. Cancelled, it is on its way.

        Raises what the task's commits raise, and StaleAttempt.
        """
        self._attempt.check_open()
        self.flush()
        await self._attempt.life.ledger.durable()

    def flush(self) -> None:
        """Hand what was gathered to the store, on the loop; nothing of an attempt that is over."""
        if not self._attempt.ended:
            self._hand_over()

    def close(self) -> None:
        """The attempt has ended: hand over what it wrote until now. Called once."""
        self._hand_over()

    def _arm(self) -> None:
        if self._armed and self._timer is None:
            self._timer = self._attempt.life.clock.call_later(_SECONDS, self.flush)

    def _hand_over(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._armed = False
        self._gathered = 0
        count = len(self._pieces)
        taken = self._pieces[:count]
        del self._pieces[:count]
        if taken and not self._attempt.life.is_fenced:
            self._append(taken)

    def _append(self, pieces: list[bytes]) -> None:
        attempt = self._attempt
        ledger, data = attempt.life.ledger, b"[%b]" % b",".join(pieces)
        fresh, self._begun = int(not self._begun), True
        key, step = ledger.row.key, attempt.identity
        ledger.pieces(ChunkRow(key, self.name, step, attempt.serial, fresh, len(pieces), data))
        try:
            landing = ledger.landing()
        except EverstepError:
            return  # the life is told by its next commit
        if landing is not None:
            size = sum(map(len, pieces)) + len(pieces)
            landing.add_done_callback(partial(self._has_landed, size))

    def _has_landed(self, size: int, landing: asyncio.Future[None]) -> None:
        if not landing.cancelled() and landing.exception() is None:
            self._landed += size
