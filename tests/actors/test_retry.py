"""A retry policy is a table: error, attempts and time in; a verdict and a delay out."""

import asyncio
import math
import pickle
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everstep.actors.backoff import LONGEST, Jitter, exponential, fixed
from everstep.actors.retry import Retry, Verdict, delay, verdict


class Busy(Exception):
    """An error of a service that says when to come back."""

    def __init__(self, retry_after: Any) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


def half() -> float:
    return 0.5


def group(*errors: Exception) -> ExceptionGroup[Exception]:
    return ExceptionGroup("several", errors)


VALUE, KEY, OS = ValueError("v"), KeyError("k"), ConnectionError("c")
ON_VALUE = Retry(retry_on=(ValueError,))
ON_VALUE_OR_OS = Retry(retry_on=(ValueError, OSError))
NOT_KEY = Retry(give_up_on=(KeyError,))
BOTH = Retry(retry_on=(ConnectionError,), give_up_on=(OSError,))
CANCELLED = asyncio.CancelledError()

BY_ERROR: list[tuple[str, Retry, BaseException, Verdict]] = [
    ("any Exception unless told otherwise", Retry(), VALUE, "retry"),
    ("a listed class", ON_VALUE, VALUE, "retry"),
    ("a subclass of a listed class", ON_VALUE, UnicodeError(), "retry"),
    ("not listed", ON_VALUE, KEY, "give_up"),
    ("give_up_on", NOT_KEY, KEY, "give_up"),
    ("not in give_up_on", NOT_KEY, VALUE, "retry"),
    ("give_up_on beats retry_on", BOTH, OS, "give_up"),
    ("nothing is retried", Retry(retry_on=()), VALUE, "give_up"),
    ("cancellation", Retry(), CANCELLED, "give_up"),
    ("the interpreter is told to end", Retry(), SystemExit(1), "give_up"),
    ("a group of one", ON_VALUE, group(VALUE), "retry"),
    ("a group in a group of one", ON_VALUE, group(group(VALUE)), "retry"),
    ("a group of one not listed", ON_VALUE, group(KEY), "give_up"),
    ("a group of which all are listed", ON_VALUE_OR_OS, group(VALUE, group(OS)), "retry"),
    ("a group of which one is not listed", ON_VALUE, group(VALUE, KEY), "give_up"),
    ("a group with a member to give up on", NOT_KEY, group(VALUE, group(KEY)), "give_up"),
    ("a group by its own class", Retry(retry_on=(ExceptionGroup,)), group(KEY), "retry"),
    ("a group with a cancellation", Retry(), BaseExceptionGroup("", [CANCELLED, VALUE]), "give_up"),
]


@pytest.mark.parametrize(
    ("policy", "error", "expected"),
    [pytest.param(*row, id=name) for name, *row in BY_ERROR],
)
def test_the_error_decides_while_attempts_are_left(
    policy: Retry, error: BaseException, expected: Verdict
) -> None:
    assert verdict(policy, error, 1, 0.0) == expected


@pytest.mark.parametrize(
    ("policy", "attempts", "elapsed", "expected"),
    [
        (Retry(3), 2, 0.0, "retry"),
        (Retry(3), 3, 0.0, "give_up"),
        (Retry(3), 4, 0.0, "give_up"),
        (Retry(1), 1, 0.0, "give_up"),
        (Retry(9, max_elapsed=60), 1, 59.9, "retry"),
        (Retry(9, max_elapsed=60), 1, 60.0, "give_up"),
        (Retry(9), 1, math.inf, "retry"),
    ],
)
def test_attempts_and_time_run_out(
    policy: Retry, attempts: int, elapsed: float, expected: Verdict
) -> None:
    assert verdict(policy, VALUE, attempts, elapsed) == expected


@pytest.mark.parametrize(("jitter", "expected"), [("full", 4), ("equal", 6), ("none", 8)])
def test_the_delay_is_the_backoff_with_jitter(jitter: Jitter, expected: float) -> None:
    policy = Retry(backoff=exponential(2, maximum=60), jitter=jitter)

    assert delay(policy, 3, half, VALUE) == expected


def test_the_defaults_are_three_attempts_and_full_jitter_up_to_a_minute() -> None:
    policy = Retry()

    assert policy == Retry(
        3, backoff=exponential(0.5, maximum=60), jitter="full", retry_on=(Exception,)
    )
    assert [delay(policy, attempt, half) for attempt in (1, 2, 1100)] == [0.25, 0.5, 30]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (30, 30),
        (30.5, 30.5),
        (timedelta(minutes=2), 120),
        (1, 2.5),
        (10**400, LONGEST),
        (1e300, LONGEST),
    ],
    ids=["int", "float", "timedelta", "less than the backoff", "huge int", "huge float"],
)
def test_no_try_begins_before_the_error_allows_it(asked: Any, expected: float) -> None:
    assert delay(Retry(backoff=fixed(5)), 1, half, Busy(asked)) == expected


@pytest.mark.parametrize(
    "asked", [None, "30", True, math.nan, math.inf, -math.inf, -5, timedelta(-1)], ids=repr
)
def test_a_retry_after_that_makes_no_sense_is_as_if_absent(asked: Any) -> None:
    assert delay(Retry(backoff=fixed(5)), 1, half, Busy(asked)) == 2.5


def test_a_group_waits_for_the_member_that_asks_for_most() -> None:
    errors = group(Busy(7), group(Busy(9), VALUE))

    assert delay(Retry(backoff=fixed(1)), 1, half, errors) == 9


def test_a_group_however_deep_is_decided_like_its_only_member() -> None:
    error: Exception = Busy(7)
    for _ in range(5000):
        error = group(error)

    assert verdict(Retry(), error, 1, 0) == "retry"
    assert verdict(Retry(retry_on=(KeyError,)), error, 1, 0) == "give_up"
    assert verdict(Retry(give_up_on=(Busy,)), error, 1, 0) == "give_up"
    assert delay(Retry(backoff=fixed(1)), 1, half, error) == 7


@given(st.integers(1, 10**6), st.floats(allow_nan=True), st.floats(0, 0.999))
def test_a_delay_is_finite_and_never_negative(attempt: int, asked: float, drawn: float) -> None:
    chosen = delay(Retry(), attempt, lambda: drawn, Busy(asked))

    assert 0 <= chosen <= LONGEST


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"max_attempts": 0}, ValueError, "write max_attempts=1 for no retry"),
        ({"max_attempts": 2.0}, TypeError, "write max_attempts=3"),
        ({"max_attempts": True}, TypeError, "write max_attempts=3"),
        ({"backoff": 5}, TypeError, r"write backoff=fixed\(5\)"),
        ({"jitter": "half"}, ValueError, "write jitter='full', 'equal' or 'none'"),
        ({"retry_on": ValueError}, TypeError, r"write retry_on=\(ValueError,"),
        ({"retry_on": [ValueError]}, TypeError, r"write retry_on=\(ValueError,"),
        ({"give_up_on": ("ValueError",)}, TypeError, r"write give_up_on=\(ValueError,"),
        ({"give_up_on": (KeyboardInterrupt,)}, TypeError, "subclasses of Exception"),
        ({"max_elapsed": -1}, ValueError, "write max_elapsed=300"),
        ({"max_elapsed": math.nan}, ValueError, "write max_elapsed=300"),
        ({"max_elapsed": timedelta(1)}, TypeError, "write max_elapsed=300"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_with_what_to_write(
    arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        Retry(**arguments)


def test_a_policy_is_frozen_and_survives_pickling() -> None:
    policy: Any = Retry(5, give_up_on=(KeyError,), max_elapsed=60)

    assert pickle.loads(pickle.dumps(policy)) == policy
    with pytest.raises(FrozenInstanceError):
        policy.max_attempts = 6
