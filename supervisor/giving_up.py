"""What a task that was given up means to its pool."""

from __future__ import annotations

from ..storage.records import Progress, Status
from .blame import read_blame
from .errors import RestartLimitExceeded
from .restart import Restart

__all__ = ["escalates", "given_up"]

_LIMITS = {
    "crashes": "{crashes} and max_restarts={max_restarts}",
    "deaths": "{deaths} of the process and max_deaths={max_deaths}",
    "never_retried": "an error that is never retried",
}
"""For each reason with which a task is given up, the limit in words."""


def escalates(progress: Progress, restart: Restart) -> bool:
    """Whether the task has just been given up, and its pool is to fail with it."""
    paused = progress.status is Status.PAUSED and progress.reason in _LIMITS
    return paused and restart.on_give_up == "escalate"


def given_up(pool: str, task_id: str, progress: Progress, restart: Restart) -> RestartLimitExceeded:
    """What the pool at this path fails with. The task's facts are in its row."""
    limit = _LIMITS[progress.reason or ""].format(
        crashes=f"{progress.crashes} crash{'' if progress.crashes == 1 else 'es'}",
        deaths=f"{progress.deaths} death{'' if progress.deaths == 1 else 's'}",
        max_restarts=restart.max_restarts,
        max_deaths=restart.max_deaths,
    )
    failure = read_blame(progress.error or b"{}").failure
    return RestartLimitExceeded(pool, task_id, limit, str(failure), "pool")
