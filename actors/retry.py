"""Whether a failed attempt is followed by another, and when: decided by pure functions."""

import math
from dataclasses import KW_ONLY
from datetime import timedelta
from typing import Literal, cast, get_args

from ..storage.record import record
from .backoff import (
    LONGEST,
    Backoff,
    Chance,
    Jitter,
    answers_seconds,
    exponential,
    number_of_seconds,
    seconds,
    spread,
)
from .foreign import is_any_of, members, members_within, read

__all__ = ["Retry", "Verdict", "any_matches", "delay", "verdict"]

Verdict = Literal["retry", "give_up"]
ErrorTypes = tuple[type[Exception], ...]


@record
class Retry:
    """How often, how long and after which errors a step is tried again.

    - `max_attempts`: executions in all, the first included; 1 is no retry.
    - `backoff`: `exponential(...)`, `fixed(...)`, `none()`, `from_tenacity(...)` or a function
      from the number of the failed attempt (1 for the first) to seconds.
    - `jitter`: `"full"`, `"equal"` or `"none"`, see `everstep.actors.backoff.spread`.
    - `retry_on`, `give_up_on`: tuples of error classes; `give_up_on` wins.
    - `max_elapsed`: seconds since the first attempt began after which no other one begins. Over a
      restart they are measured by the wall clock: what it was set by meanwhile counts too.

    An error's `retry_after` (seconds or a timedelta) is the least that is waited.

    Raises TypeError or ValueError for a value that makes no sense; the text says what to write.

    >>> Retry(max_attempts=5, backoff=exponential(0.2, maximum=30), give_up_on=(KeyError,))
    Retry(max_attempts=5, ..., give_up_on=(<class 'KeyError'>,), max_elapsed=None)
    """

    max_attempts: int = 3
    _: KW_ONLY
    backoff: Backoff = exponential(0.5, maximum=60)
    jitter: Jitter = "full"
    retry_on: ErrorTypes = (Exception,)
    give_up_on: ErrorTypes = ()
    max_elapsed: float | None = None

    def __post_init__(self) -> None:
        _check_attempts(self.max_attempts)
        _check_backoff(self.backoff)
        if self.jitter not in get_args(Jitter):
            raise ValueError(
                f"jitter {self.jitter!r} is unknown: write jitter='full', 'equal' or 'none'"
            )
        _check_errors("retry_on", self.retry_on)
        _check_errors("give_up_on", self.give_up_on)
        if self.max_elapsed is not None:
            number_of_seconds("max_elapsed", self.max_elapsed, "max_elapsed=300")


def verdict(policy: Retry, error: BaseException, attempts: int, elapsed: float) -> Verdict:
    """Whether another attempt follows the failed one.

    `attempts` counts the failed one too, `elapsed` is seconds since the first attempt began. A
    group of errors is retried if each of its members would be, and given up if any matches
    `give_up_on`.
    """
    if any_matches(error, policy.give_up_on) or not _all_match(error, policy.retry_on):
        return "give_up"
    if attempts >= policy.max_attempts:
        return "give_up"
    if policy.max_elapsed is not None and elapsed >= policy.max_elapsed:
        return "give_up"
    return "retry"


def delay(policy: Retry, attempt: int, chance: Chance, error: BaseException | None = None) -> float:
    """The seconds to wait after failed attempt number `attempt`, which is 1 for the first.

    Never less than the error's `retry_after`, in a group the largest of its members', and
    otherwise never more than the backoff's maximum. Finite, a century at most.

    Raises what `everstep.actors.backoff.seconds` raises for a backoff that answers nonsense.
    """
    drawn = spread(seconds(policy.backoff, attempt), policy.jitter, chance)
    return max(drawn, _retry_after(error))


def _retry_after(error: BaseException | None) -> float:
    """The seconds `error` asks to be left alone; 0 if it asks nothing that can be understood."""
    return 0.0 if error is None else max(map(_own_retry_after, members_within(error)))


def _own_retry_after(error: BaseException) -> float:
    return read(lambda: _understood(getattr(error, "retry_after", None)), lambda _: 0.0)


def _understood(asked: object) -> float:
    if isinstance(asked, timedelta):
        asked = asked.total_seconds()
    if isinstance(asked, bool) or not isinstance(asked, int | float):
        return 0.0
    return float(min(asked, LONGEST)) if 0 <= asked < math.inf else 0.0


def _all_match(error: BaseException, classes: ErrorTypes) -> bool:
    """Whether the error, or every error of the group, is of these classes."""
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if id(one) in seen or is_any_of(one, classes):
            continue
        seen.add(id(one))
        inner = members(one)
        if not inner:
            return False
        left += inner
    return True


def any_matches(error: BaseException, classes: ErrorTypes) -> bool:
    """Whether the error, or any error of the group, is of these classes."""
    return any(is_any_of(one, classes) for one in members_within(error))


def _check_attempts(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"max_attempts must be a whole number, not {value!r}: write max_attempts=3")
    if value < 1:
        raise ValueError(
            f"max_attempts must be 1 or more, not {value}: write max_attempts=1 for no retry"
        )


def _check_backoff(value: object) -> None:
    if not answers_seconds(value):
        raise TypeError(
            f"backoff must be a function from the attempt to seconds, not {value!r}: "
            "write backoff=fixed(5) or backoff=exponential(0.5, maximum=60)"
        )


def _check_errors(name: str, value: object) -> None:
    if not isinstance(value, tuple) or not all(map(_is_error_type, cast("ErrorTypes", value))):
        raise TypeError(
            f"{name} must be a tuple of subclasses of Exception, not {value!r}: "
            f"write {name}=(ValueError, TimeoutError)"
        )


def _is_error_type(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)
