"""Calls of effects that are under way in this process, and receipts that come late."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..storage.clock import Clock
from ..storage.interface import Refusal
from ..storage.records import EffectRow, EffectState, Receipt
from .traffic import resolve, settled_within

if TYPE_CHECKING:
    from .environment import Environment

__all__ = ["RunningCall"]


_LOG = logging.getLogger("everstep")


class RunningCall:
    """A call of an effect, known to the whole runtime until it is over and what it left is stored.

    So a repeat, in a later attempt or life, can wait for it instead of calling again.
    """

    __slots__ = ("_caller", "_environment", "_future", "_is_late", "_row", "_task_id")

    def __init__(self, environment: Environment, task_id: str, row: EffectRow) -> None:
        self._environment = environment
        self._task_id = task_id
        self._row = row
        self._is_late = False
        self._caller = asyncio.current_task()
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        environment.effects_running[row.operation] = self._future

    def leave(self) -> None:
        """Its caller is done with it; over, unless the call itself goes on."""
        if not self._is_late:
            self._over()

    async def over_within(self, clock: Clock, seconds: float) -> None:
        """Return when it is over and what it left is stored, or after `seconds`."""
        await settled_within(clock, self._future, seconds)

    def cut_off(self) -> None:
        """The code that awaits the call is never resumed; over, unless another task made it."""
        if self._caller is asyncio.current_task():
            self.leave()

    def expect_late(self, call: asyncio.Future[Any], encode: Callable[[Any], bytes]) -> None:
        """The caller goes away, and the function goes on in its thread."""
        self._is_late = True

        def ended(_: asyncio.Future[Any]) -> None:
            if call.cancelled() or call.exception() is not None:
                self._over()  # it failed, so there is no receipt: the effect stays unknown
                return
            try:
                self.comes_late(encode(call.result()))
            except Exception as error:  # noqa: BLE001  (whoever would repeat the call waits for it)
                self._over()
                key = self._row.key
                _LOG.warning("the receipt of %s of %s is lost: %s", key, self._task_id, error)

        call.add_done_callback(ended)

    def comes_late(self, data: bytes) -> None:
        """Store a receipt past the life that made the call: it is a fact, whoever asked for it.

        Refused, the effect was decided otherwise meanwhile, and that stands.
        """
        self._is_late = True
        now = self._environment.clock.now()
        row = self._row._replace(state=EffectState.RECEIPT, value=data, error=None, ended_at=now)
        self._environment.store.submit(_LateReceipt(self._task_id, row, self._over))

    def _over(self) -> None:
        running = self._environment.effects_running
        if running.get(self._row.operation) is self._future:
            del running[self._row.operation]
        resolve(self._future)


class _LateReceipt:
    """A draft for which nobody waits but those who would repeat the call."""

    def __init__(self, task_id: str, row: EffectRow, over: Callable[[], None]) -> None:
        self._receipt = Receipt(task_id, row, len(row.value or b""))
        self._over = over

    def seal(self) -> Receipt:
        return self._receipt

    def settle(self, refusal: Refusal | None) -> None:
        self._over()
