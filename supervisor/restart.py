"""How often a task is started again after a crash or a death, as frozen policies."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

from ..actors.backoff import Backoff
from ..actors.errors import BadCall

__all__ = ["GiveUp", "Restart", "check_whole"]

GiveUp = Literal["fail", "pause"]


@dataclass(frozen=True, slots=True)
class Restart:
    """When a task is started again from its last checkpoint, and when it is given up.

    - `max_restarts`: crashes of one task (an exception left `run`) that are followed by a
      restart; one more and it is given up. Counted since it last got on: a new checkpoint and
      `reset_after` of running without a crash.
    - `backoff`: seconds before restart number n, as a function of n; None is at once. From half
      of it to all of it is waited, so that tasks that crashed together do not come back together.
    - `max_deaths`: deaths of the process that a task may take part in, the last of them as the
      only one that ran; it is given up with that one. A task with one less is a suspect.
    - `on_give_up`: `"fail"` ends the task (it can be resumed), `"pause"` leaves it to a person.
    - `reset_after`: seconds of running after which it counts as recovered.

    Raises BadCall for a value that makes no sense.

    >>> Restart(5, on_give_up="pause")
    Restart(max_restarts=5, backoff=None, max_deaths=3, on_give_up='pause', reset_after=300.0)
    """

    max_restarts: int = 3
    _: KW_ONLY
    backoff: Backoff | None = None
    max_deaths: int = 3
    on_give_up: GiveUp = "fail"
    reset_after: float = 300.0

    def __post_init__(self) -> None:
        check_whole("max_restarts", self.max_restarts, 0, "max_restarts=3, or 0 for no restart")
        check_whole(
            "max_deaths",
            self.max_deaths,
            2,
            "max_deaths=2 or more: one death does not tell the killer from its neighbours",
        )
        _callable_or_none(self.backoff)
        if self.on_give_up not in get_args(GiveUp):
            raise BadCall("on_give_up", self.on_give_up, "is unknown", "'fail' or 'pause'")
        _positive("reset_after", self.reset_after, "reset_after=300 (seconds)")

    @property
    def suspects_from(self) -> int:
        """Deaths from which on a task is a suspect."""
        return self.max_deaths - 1


def check_whole(name: str, value: object, least: int, instead: str) -> None:
    """Raise BadCall unless `value` is a whole number and not less than `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadCall(name, value, "is not a whole number", instead)
    if value < least:
        raise BadCall(name, value, f"is less than {least}", instead)


def _positive(name: str, value: object, instead: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadCall(name, value, "is not a number of seconds", instead)
    if not 0 < value < math.inf:
        raise BadCall(name, value, "is not above zero and finite", instead)


def _callable_or_none(value: object) -> None:
    if value is not None and not callable(value):
        instead = "backoff=exponential(1, maximum=60), or None"
        raise BadCall("backoff", value, "is not a function from a number to seconds", instead)
