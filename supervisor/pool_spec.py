"""What a pool of tasks is to be, as a frozen record."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import cast

from ..actors.backoff import exponential, number_of
from ..actors.errors import BadCall
from ..storage.record import record
from .checks import MOST, check_name, check_whole
from .errors import BadCombination
from .restart import Restart, check_meaning

__all__ = ["DEFAULT_RESTART", "Pool"]

DEFAULT_RESTART = Restart(3, backoff=exponential(1, maximum=60))
_LONGEST_NAME = 200
"""As for ids and lanes, so that each pool can be asked for: `runtime.tasks(pool=…)`."""
_NO_MEANING = "has no meaning in a pool, which counts the crashes of each task since it got on"


@record
class Pool:
    """A supervisor of tasks: how many run at once, how fast, and how they are started again.

    What is not let in waits in the store and costs no memory. All counts are of this process.

    - `max_running`: tasks that run at once.
    - `max_running_per_lane`: of them, tasks of one lane; those without a lane have no such limit.
    - `rate`: (tasks, seconds): so many are let in within any so many seconds, whatever for: a
      first start, a restart after a crash, a recovery.
    - `storm`: (crashes, seconds): more crashes in the pool within so many seconds are a storm. It
      raises an alarm, and while it lasts tasks are let in one at a time, seconds / crashes apart.
      It ends no task.
    - `restart`: what follows when a task crashes, or the process dies with it.

    Raises BadCall for a value that makes no sense, BadCombination for options that exclude each
    other, and for a `restart` with options that only services have.

    >>> Pool("reports", max_running=20, rate=(100, 60)).restart.max_restarts
    3
    """

    name: str = "tasks"
    _: KW_ONLY
    max_running: int = 1000
    max_running_per_lane: int | None = None
    rate: tuple[int, float] | None = None
    storm: tuple[int, float] | None = None
    restart: Restart = DEFAULT_RESTART

    def __post_init__(self) -> None:
        check_name("name", self.name, "name='tasks'")
        if len(self.name) > _LONGEST_NAME:
            why = f"has more than {_LONGEST_NAME} characters"
            raise BadCall("name", self.name, why, "name='tasks'")
        check_whole("max_running", self.max_running, 1, "max_running=1 or more")
        if self.max_running_per_lane is not None:
            self._check_lanes(self.max_running_per_lane)
        _check_pair("rate", self.rate, "rate=(100, 60): 100 tasks in 60 seconds")
        _check_pair("storm", self.storm, "storm=(20, 60): 20 crashes in 60 seconds")
        check_meaning(f"Pool({self.name!r})", self.restart, ("within", "max_failures"), _NO_MEANING)

    def _check_lanes(self, most: int) -> None:
        check_whole("max_running_per_lane", most, 1, "max_running_per_lane=5, or None")
        if most > self.max_running:
            raise BadCombination(
                f"Pool({self.name!r})",
                f"max_running_per_lane={most} with max_running={self.max_running}",
                "limits nothing, since no more than max_running run at all",
                f"max_running_per_lane={self.max_running} or less, or None",
            )


def _check_pair(name: str, value: object, instead: str) -> None:
    """Raise BadCall unless `value` is None, or a count of at least 1 and seconds above 0."""
    why = None if value is None else _wrong_pair(value)
    if why is not None:
        raise BadCall(name, value, why, instead)


def _wrong_pair(value: object) -> str | None:
    pair = cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()
    if len(pair) != 2:
        return "is not a pair of a number and seconds"
    count, within = pair[0], number_of(pair[1])
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST:
        return f"does not begin with a whole number from 1 to {MOST}"
    if within is None:
        return "does not end with a number of seconds"
    return None if 0 < within < math.inf else "has seconds that are not above zero and finite"
