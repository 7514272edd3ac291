"""What a task that was given up means to its pool."""

from __future__ import annotations

from ..actors.blame import read_blame
from ..storage.records import Progress, Status
from .errors import RestartLimitExceeded
from .restart import Restart

__all__ = ["escalation"]

_LIMITS = {
    "crashes": "{crashes} and max_restarts={max_restarts}",
    "deaths": "{deaths} of the process and max_deaths={max_deaths}",
    "never_retried": "an error that is never retried",
}
"""For each reason with which a task is given up, the limit in words."""


def escalation(
    pool: str, task_id: str, progress: Progress, restart: Restart
) -> RestartLimitExceeded | None:
    """What `pool` is to fail with, where the task has just been given up and escalates; else None.

    The task's facts are in its row.
    """
    limit = _LIMITS.get(progress.reason or "")
    escalates = progress.status is Status.PAUSED and restart.on_give_up == "escalate"
    if limit is None or not escalates:
        return None
    limit = limit.format(
        crashes=f"{progress.crashes} crash{'' if progress.crashes == 1 else 'es'}",
        deaths=f"{progress.deaths} death{'' if progress.deaths == 1 else 's'}",
        max_restarts=restart.max_restarts,
        max_deaths=restart.max_deaths,
    )
    failure = read_blame(progress.error or b"{}").failure
    return RestartLimitExceeded(pool, task_id, limit, str(failure), "pool")
