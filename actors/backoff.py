"""How long to wait before the next try: pure functions of the number of the failed attempt."""

import math
from collections.abc import Callable
from typing import Literal

from ..storage.record import record
from .foreign import name_of, read, shown, words_of

__all__ = [
    "LONGEST",
    "Backoff",
    "Chance",
    "Exponential",
    "Fixed",
    "FromTenacity",
    "Jitter",
    "answers_seconds",
    "exponential",
    "fixed",
    "from_tenacity",
    "none",
    "number_of",
    "number_of_seconds",
    "seconds",
    "spread",
]

Backoff = Callable[[int], float]
"""From the number of the attempt that failed, 1 for the first, to seconds."""

Chance = Callable[[], float]
"""A source of numbers from 0 up to, not including, 1; for example `random.Random(7).random`."""

Jitter = Literal["full", "equal", "none"]

LONGEST = 100 * 365 * 86400.0
"""No delay is longer than a century, in seconds, so that every due time can be stored."""


@record
class Exponential:
    """`base * factor ** (attempt - 1)` seconds, never more than `maximum`."""

    base: float
    factor: float
    maximum: float

    def __call__(self, attempt: int) -> float:
        try:
            return min(self.maximum, self.base * self.factor ** (attempt - 1))
        except OverflowError:
            return self.maximum


@record
class Fixed:
    """The same number of seconds before every try."""

    seconds: float

    def __call__(self, attempt: int) -> float:
        return self.seconds


@record
class FromTenacity:
    """What one of tenacity's `wait_*` objects says."""

    wait: Callable[["_AttemptState"], float]

    def __call__(self, attempt: int) -> float:
        return self.wait(_AttemptState(attempt))


@record
class _AttemptState:
    """The part of tenacity's retry state that its waits by number read."""

    attempt_number: int


def exponential(base: float, *, factor: float = 2, maximum: float = 60) -> Exponential:
    """Wait `base` seconds after the first failure and `factor` times longer after each further.

    `base` and `maximum` are seconds; no delay exceeds `maximum`, jitter included.

    Raises TypeError or ValueError for what is not a number of seconds, for a `factor` below 1,
    and for a `maximum` below `base`.

    >>> [exponential(0.5, maximum=3)(attempt) for attempt in (1, 2, 3, 4)]
    [0.5, 1.0, 2.0, 3.0]
    """
    example = "exponential(0.5, factor=2, maximum=60)"
    checked = Exponential(
        base=number_of_seconds("base", base, example),
        factor=number_of_seconds("factor", factor, example),
        maximum=number_of_seconds("maximum", maximum, example),
    )
    if checked.factor < 1:
        raise ValueError(f"factor must be 1 or more, not {factor!r}: write {example}")
    if checked.maximum < checked.base:
        raise ValueError(
            f"maximum {maximum!r} is below base {base!r}: write "
            f"exponential({base!r}, maximum={base!r}) or a larger maximum"
        )
    return checked


def fixed(seconds: float) -> Fixed:
    """Wait the same number of seconds after every failure.

    Raises TypeError or ValueError for what is not a number of seconds.
    """
    return Fixed(number_of_seconds("seconds", seconds, "fixed(5)"))


def none() -> Fixed:
    """Try again at once."""
    return Fixed(0.0)


def from_tenacity(wait: Callable[..., float]) -> FromTenacity:
    """Wait as one of tenacity's `wait_*` objects says, by the number of the attempt alone.

    A wait that also reads the outcome or the time since the start raises AttributeError when
    it is asked. Waits with randomness of their own go with `jitter="none"`.

    >>> from_tenacity(lambda state: 2.0 * state.attempt_number)(3)
    6.0
    """
    if not callable(wait):
        raise TypeError(
            f"from_tenacity needs a wait of tenacity, not {wait!r}: "
            "write from_tenacity(wait_exponential(max=60))"
        )
    return FromTenacity(wait)


def seconds(backoff: Backoff, attempt: int) -> float:
    """The seconds `backoff` gives after failed attempt number `attempt`, a century at most.

    Raises ValueError for an attempt below 1 and for a negative answer or NaN, TypeError for one
    that is no number. An Exception of the backoff's own, KeyboardInterrupt and SystemExit pass.
    Anything else, such as CancelledError, becomes a RuntimeError: it cancels nobody.
    """
    if attempt < 1:
        raise ValueError(f"attempts are counted from 1, not {attempt!r}")
    try:
        return _answer(backoff, attempt)
    except (Exception, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as broken:
        raise RuntimeError(_told(backoff, attempt, broken)) from broken


def _answer(backoff: Backoff, attempt: int) -> float:
    what = f"what {backoff!r} answers to attempt {attempt}"
    example = "a function from the attempt to seconds, 0 or more"
    return number_of_seconds(what, _at_most_a_century(backoff(attempt)), example)


def _told(backoff: Backoff, attempt: int, broken: BaseException) -> str:
    raised = f"{shown(backoff)} raised {name_of(broken)} after attempt {attempt}"
    words = words_of(broken)
    told = f"{raised}: {words}" if words else raised
    return f"{told}; it must answer with seconds, or raise an Exception"


def answers_seconds(backoff: object) -> bool:
    """Whether this can be a backoff: called, it answers with a number, or fails by itself.

    It finds `exponential` that was meant to be `exponential(1)`.
    """
    if not callable(backoff):
        return False
    first = read(lambda: backoff(1), lambda _: 0)  # which may need what there is only later
    return isinstance(first, int | float) and not isinstance(first, bool)


def spread(delay: float, jitter: Jitter, chance: Chance) -> float:
    """`delay` seconds made random, so that those who failed together do not come back together.

    `"full"` is anything from 0 to `delay`, `"equal"` from half of it to all of it, `"none"`
    leaves it. Never more than `delay`. The names are those of
    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """
    if jitter == "full":
        return delay * chance()
    if jitter == "equal":
        return delay / 2 * (1 + chance())
    return delay


def _at_most_a_century(value: object) -> object:
    too_long = isinstance(value, int | float) and value > LONGEST
    return LONGEST if too_long else value


def number_of(value: object) -> float | None:
    """The number as a float, infinite where it is too large for one; None for none, as for True."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def number_of_seconds(what: str, value: object, example: str) -> float:
    """`value` as a float if it is a number from 0 to a century.

    Raises TypeError or ValueError, which name `what` was given and the `example` to write.
    """
    number = number_of(value)
    if number is None:
        raise TypeError(f"{what} must be a number, not {value!r}: write {example}")
    if not 0 <= number <= LONGEST:  # NaN is not
        raise ValueError(
            f"{what} must be a number from 0 to {LONGEST:.0f}, not {value!r}: write {example}"
        )
    return number
