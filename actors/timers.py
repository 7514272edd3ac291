"""`ctx.sleep` and `ctx.sleep_until`: waits for an instant."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ..storage.clock import Clock, Due, due_in, shown_seconds
from ..storage.records import StepRow
from . import rows
from .backoff import LONGEST
from .errors import BadCall
from .wait import Answer, Wait, under_way

if TYPE_CHECKING:
    from .scope import Call

__all__ = ["Choose", "chosen_delay", "chosen_instant", "is_wait", "sleep"]

_WAITS = frozenset(
    {"ctx.sleep", "ctx.sleep_until", "ctx.receive", "ctx.ask_human", "ctx.ask", "ctx.result"}
)

Choose = Callable[[Clock], Due]
"""Makes of the present moment the instant at which a wait is over."""


def chosen_delay(seconds: object, what: str = "seconds") -> tuple[Choose, str]:
    """How the end of a wait of so many seconds is chosen, and its name for people.

    Of more than a century it is a century, so that who means "for ever" can say so.
    """
    delay = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay < math.inf:
        why = "is not a number of seconds to wait"
        raise BadCall(what, seconds, why, f"{what}=60, or {what}=timedelta(days=3)")
    bounded = float(min(delay, LONGEST))
    return lambda clock: due_in(clock, bounded), shown_seconds(bounded)


def chosen_instant(instant: object) -> tuple[Choose, str]:
    """The same of `sleep_until(instant)`: however the clock is set, it ends at that instant."""
    if not isinstance(instant, datetime) or instant.utcoffset() is None:
        why = "is not an instant: it names no time zone"
        instead = "sleep_until(datetime(2031, 5, 1, 7, tzinfo=ZoneInfo('Asia/Shanghai')))"
        raise BadCall("instant", instant, why, instead)
    due = Due(instant.timestamp(), None, math.inf)
    return lambda clock: due, instant.isoformat()


async def sleep(call: Call, choose: Choose) -> None:
    """Return when the chosen instant has come; at once where it is recorded that it has."""
    life = call.scope.life
    row = life.take(call)
    if row is not None and row.outcome is not None:
        life.sync(call.scope)
        return
    await life.gate()
    with under_way(call):
        if row is None or row.due_at is None:
            row = rows.begun_wait(life, call, choose(life.clock))
        wait = Wait(call.scope, row)

        async def answer() -> Answer | None:
            return Answer(b"null") if wait.is_over else None

        await life.waits.until(wait, answer)


def is_wait(row: StepRow) -> bool:
    """Whether a row of a step is a wait: it has no attempts, and its due time is its end."""
    return row.name in _WAITS
