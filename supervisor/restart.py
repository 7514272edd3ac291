"""How often a child or a task is started again, as frozen policies."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import Final, Literal

from ..actors.backoff import Backoff, Chance, Jitter, answers_seconds, seconds, spread
from ..actors.errors import BadCall
from ..storage.record import record
from .checks import check_option, check_seconds, check_whole
from .errors import BadCombination

__all__ = ["UNSET", "GiveUp", "Restart", "Unset", "backoff_delay", "check_meaning"]

GiveUp = Literal["fail", "pause", "escalate"]


class Unset(Enum):
    """Tells an option that was left out from every value that it can have."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return self.value


UNSET: Final = Unset.UNSET


@record
class Restart:
    """When a child, or a task, is started again, and when it is given up.

    For the services of a supervisor, whose budget is shared by all its children:

    - `max_restarts`: restarts within `within` seconds (5 when left out), both ends included; one
      more and the supervisor gives up.
    - `max_failures`: failures in a row of one child that are followed by a restart; one more and
      the supervisor gives up. None is no such limit.

    For the tasks of a pool, each by itself:

    - `max_restarts`: crashes of one task (an exception left `run`) that are followed by a
      restart; one more and it is given up. Counted since it last got on: a new checkpoint and
      `reset_after` of running without a crash.
    - `max_deaths`: deaths of the process that a task may take part in (3 when left out), the last
      of them as the only one that ran; it is given up with that one. A task with one less is a
      suspect.
    - `on_give_up`: `"fail"` (when left out) ends the task (it can be resumed), `"pause"` leaves it
      to a person, `"escalate"` does that and fails the pool towards its supervisor.

    For both:

    - `backoff`: seconds before restart number n, as a function of n; None is at once. For a
      service, n counts its failures in a row.
    - `jitter`: how much of it is waited, so that those who failed together do not come back
      together: `"equal"` from half to all of it, `"full"` anything up to it, `"none"` all of it.
      Never more than the backoff says.
    - `reset_after`: seconds of running after which it counts as recovered.

    An option given where it has no meaning is BadCombination. Raises BadCall for a value that
    makes no sense.

    >>> Restart(5, on_give_up="pause").on_give_up
    'pause'
    >>> Restart().within
    5.0
    """

    max_restarts: int
    within: float
    backoff: Backoff | None
    jitter: Jitter
    max_failures: int | None
    reset_after: float
    max_deaths: int
    on_give_up: GiveUp
    given: frozenset[str] = field(init=False, compare=False, repr=False)
    """Those of the options with a meaning for services only, or for tasks only, that were given."""

    def __init__(
        self,
        max_restarts: int = 3,
        within: float | Unset = UNSET,
        *,
        backoff: Backoff | None = None,
        jitter: Jitter = "equal",
        max_failures: int | None = None,
        reset_after: float = 300.0,
        max_deaths: int | Unset = UNSET,
        on_give_up: GiveUp | Unset = UNSET,
    ) -> None:
        choices = {"within": within, "max_deaths": max_deaths, "on_give_up": on_give_up}
        given = {name for name, value in choices.items() if value is not UNSET}
        _set(self, "max_restarts", max_restarts)
        _set(self, "within", 5.0 if within is UNSET else within)
        _set(self, "backoff", backoff)
        _set(self, "jitter", jitter)
        _set(self, "max_failures", max_failures)
        _set(self, "reset_after", reset_after)
        _set(self, "max_deaths", 3 if max_deaths is UNSET else max_deaths)
        _set(self, "on_give_up", "fail" if on_give_up is UNSET else on_give_up)
        _set(self, "given", frozenset(given if max_failures is None else given | {"max_failures"}))
        self._check()

    def _check(self) -> None:
        check_whole("max_restarts", self.max_restarts, 0, "max_restarts=3, or 0 for no restart")
        check_seconds("within", self.within, "within=5 (seconds)")
        _check_backoff(self.backoff)
        check_option("jitter", self.jitter, Jitter)
        if self.max_failures is not None:
            check_whole("max_failures", self.max_failures, 0, "max_failures=10, or None")
        check_seconds("reset_after", self.reset_after, "reset_after=300 (seconds)")
        check_whole(
            "max_deaths",
            self.max_deaths,
            2,
            "max_deaths=2 or more: one death does not tell the killer from its neighbours",
        )
        check_option("on_give_up", self.on_give_up, GiveUp)

    @property
    def suspects_from(self) -> int:
        """Deaths from which on a task is a suspect."""
        return self.max_deaths - 1


def check_meaning(what: str, restart: object, without: tuple[str, ...], why: str) -> None:
    """Raise unless `restart` is a policy that gives none of the options in `without`."""
    if not isinstance(restart, Restart):
        raise BadCall("restart", restart, "is not a policy", "restart=Restart(3)")
    for name in without:
        if name in restart.given:
            given = f"restart=Restart(…, {name}={getattr(restart, name)!r})"
            raise BadCombination(what, given, why, f"Restart without {name}=")


_set = object.__setattr__


def _check_backoff(value: object) -> None:
    if value is not None and not answers_seconds(value):
        instead = "backoff=exponential(1, maximum=60), or None"
        raise BadCall("backoff", value, "is not a function from a number to seconds", instead)


def backoff_delay(restart: Restart, number: int, chance: Chance) -> float:
    """Seconds to wait before the restart that follows failure `number`."""
    if restart.backoff is None:
        return 0.0
    return spread(seconds(restart.backoff, number), restart.jitter, chance)
