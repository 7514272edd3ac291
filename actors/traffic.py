"""Which attempts are in the air just now, and which steps wait out a backoff."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from ..storage.clock import Clock, Due

if TYPE_CHECKING:
    from ..storage.records import StepRow
    from .attempt import Attempt
    from .scope import Call, Scope

__all__ = ["WAKE_UP", "Traffic", "done_within", "resolve", "settled_within"]

WAKE_UP = 0.1
"""Seconds that a coroutine that was cut off gets to let go of the task that awaited it."""


def resolve(future: asyncio.Future[None]) -> None:
    """Mark it done, unless it is."""
    if not future.done():
        future.set_result(None)


async def done_within(clock: Clock, future: asyncio.Future[None], seconds: float) -> None:
    """Return when `future` is done, or after `seconds`; then it is done too."""
    timer = clock.call_later(seconds, lambda: resolve(future))
    try:
        await future
    finally:
        timer.cancel()


async def settled_within(clock: Clock, future: asyncio.Future[None], seconds: float) -> None:
    """Return when `future` is done, or after `seconds`; the future itself is left as it is."""
    if future.done():
        return
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    tell = partial(_tell, waiter)
    future.add_done_callback(tell)
    try:
        await done_within(clock, waiter, seconds)
    finally:
        future.remove_done_callback(tell)


def _tell(waiter: asyncio.Future[None], _: object) -> None:
    resolve(waiter)


class Traffic:
    """The steps of one life that are under way.

    Where no attempt is in the air, none is about to begin, and a step backs off, no step of the
    task runs. A step above one that backs off does run: its attempt is in the air.
    """

    __slots__ = ("_dues", "_standing_by", "_under_way", "_waiters", "attempts")

    def __init__(self) -> None:
        self.attempts: dict[Attempt, None] = {}
        self._standing_by: dict[Call, StepRow] = {}
        self._under_way = 0
        self._dues: dict[str, Due] = {}
        self._waiters: tuple[tuple[set[Attempt], asyncio.Future[None]], ...] = ()

    # --- attempts that have begun and are not in the air ----------------------------------

    def stands_by(self, call: Call, row: StepRow) -> None:
        """An attempt is to take off when its row is durable, or to end when all below it has."""
        self._standing_by[call] = row

    def goes_on(self, call: Call) -> bool:
        """What it waited for has come, or its caller has gone; False where it was let go before."""
        return self._standing_by.pop(call, None) is not None

    def let_go_below(self, scope: Scope) -> list[StepRow]:
        """Let none of them go on that were called in this scope, or in one within it."""
        gone = [call for call in self._standing_by if call.is_within(scope)]
        return [self._standing_by.pop(call) for call in gone]

    # --- attempts ---------------------------------------------------------------------

    def took_off(self, attempt: Attempt) -> None:
        self.attempts[attempt] = None

    def landed(self, attempt: Attempt) -> None:
        self.attempts.pop(attempt, None)
        for awaited, waiter in self._waiters:
            awaited.discard(attempt)
            if not awaited:
                resolve(waiter)

    def below(self, scope: Scope) -> list[Attempt]:
        """Attempts in the air of steps that were called in this scope, or in one within it."""
        return [attempt for attempt in self.attempts if attempt.call_made.is_within(scope)]

    async def landed_within(
        self, clock: Clock, attempts: Iterable[Attempt], seconds: float
    ) -> None:
        """Return when none of these attempts is in the air, or after `seconds`."""
        awaited = {attempt for attempt in attempts if attempt in self.attempts}
        if not awaited:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (awaited, waiter)
        self._waiters += (entry,)
        try:
            await done_within(clock, waiter, seconds)
        finally:
            self._waiters = tuple(other for other in self._waiters if other is not entry)

    async def end(
        self, clock: Clock, attempts: Iterable[Attempt], cause: BaseException, cleanup: float
    ) -> list[Attempt]:
        """Cancel these attempts, and cut off what has not ended `cleanup` seconds later.

        Returns those that never end: their code awaits something that swallows its cancellation.
        """
        ending = list(attempts)
        for attempt in ending:
            attempt.end_with(cause)
        await self.landed_within(clock, ending, cleanup)
        for attempt in ending:
            if attempt in self.attempts:
                attempt.cut()
        await self.landed_within(clock, ending, WAKE_UP)
        return [attempt for attempt in ending if attempt in self.attempts]

    # --- steps under way, and their backoffs --------------------------------------------

    def enters(self) -> None:
        """A step, or an effect of `run`, is under way from its call to its outcome."""
        self._under_way += 1

    def leaves(self) -> None:
        self._under_way -= 1

    def backs_off(self, identity: str, due: Due) -> None:
        self._dues[identity] = due

    def backed_off(self, identity: str) -> None:
        self._dues.pop(identity, None)

    @property
    def is_idle(self) -> bool:
        """Whether no step executes, is about to, or backs off."""
        return self._under_way == 0

    def only_waits(self) -> Due | None:
        """When the first backoff ends, if nothing but backoffs is under way."""
        if self.attempts or not self._dues or self._under_way > len(self._dues):
            return None
        return min(self._dues.values(), key=lambda due: due.at)
