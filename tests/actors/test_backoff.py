"""Backoffs are pure functions of the attempt, bounded whatever the numbers."""

import asyncio
import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tenacity import wait_exponential, wait_fixed, wait_incrementing, wait_random

from everstep.actors.backoff import (
    LONGEST,
    Exponential,
    Fixed,
    Jitter,
    exponential,
    fixed,
    from_tenacity,
    none,
    seconds,
    spread,
)
from everstep.actors.retry import Retry
from everstep.supervisor.restart import Restart

JITTERS: tuple[Jitter, ...] = ("full", "equal", "none")
ALMOST_ONE = math.nextafter(1, 0)
lengths = st.floats(0, LONGEST)


def test_exponential_multiplies_up_to_its_maximum() -> None:
    backoff = exponential(0.5, maximum=3)

    assert [seconds(backoff, attempt) for attempt in range(1, 6)] == [0.5, 1, 2, 3, 3]


def test_the_factor_is_two_and_the_maximum_a_minute_unless_given() -> None:
    assert exponential(1) == Exponential(base=1, factor=2, maximum=60)
    assert seconds(exponential(1, factor=10), 2) == 10


@pytest.mark.parametrize("attempt", [1025, 1100, 10**6])
def test_an_attempt_too_large_for_a_float_waits_the_maximum(attempt: int) -> None:
    assert seconds(exponential(0.5, maximum=60), attempt) == 60


def test_a_base_of_zero_stays_zero() -> None:
    assert seconds(exponential(0), 5) == 0


def test_fixed_waits_the_same_every_time_and_none_not_at_all() -> None:
    assert [seconds(fixed(5), attempt) for attempt in (1, 9)] == [5, 5]
    assert seconds(none(), 7) == 0


@pytest.mark.parametrize("backoff", [exponential(0.5, maximum=60), fixed(5), none()])
def test_a_backoff_is_equal_to_itself_after_pickling_and_json(backoff: Exponential | Fixed) -> None:
    adapter = TypeAdapter(type(backoff))

    assert pickle.loads(pickle.dumps(backoff)) == backoff
    assert adapter.validate_json(adapter.dump_json(backoff)) == backoff
    assert hash(backoff) == hash(pickle.loads(pickle.dumps(backoff)))


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (exponential, {"base": -1}),
        (exponential, {"base": math.nan}),
        (exponential, {"base": math.inf}),
        (exponential, {"base": 1, "factor": 0.5}),
        (exponential, {"base": 1, "factor": math.nan}),
        (exponential, {"base": 1, "maximum": -1}),
        (exponential, {"base": 1, "maximum": math.nan}),
        (exponential, {"base": 1, "maximum": 10**400}),
        (exponential, {"base": 5, "maximum": 1}),
        (fixed, {"seconds": -0.1}),
        (fixed, {"seconds": 10**400}),
        (fixed, {"seconds": math.nan}),
    ],
)
def test_numbers_that_make_no_sense_are_refused_with_what_to_write(
    make: Any, arguments: dict[str, float]
) -> None:
    with pytest.raises(ValueError, match=f"write {make.__name__}\\("):
        make(**arguments)


@pytest.mark.parametrize("value", ["5", None, True, [5]], ids=repr)
def test_what_is_not_a_number_is_refused_with_what_to_write(value: Any) -> None:
    with pytest.raises(TypeError, match=r"must be a number, not .*write fixed\(5\)"):
        fixed(value)


def test_the_refusal_of_a_maximum_below_the_base_names_both() -> None:
    with pytest.raises(ValueError, match=r"maximum 60 is below base 90: .*maximum=90"):
        exponential(90)


def test_an_own_function_is_a_backoff() -> None:
    assert seconds(lambda attempt: 10 * attempt, 3) == 30


@pytest.mark.parametrize("answer", [math.inf, 1e300, 10**400], ids=["infinite", "float", "int"])
def test_an_own_function_that_answers_too_much_waits_a_century(answer: float) -> None:
    assert seconds(lambda _attempt: answer, 1) == LONGEST


@pytest.mark.parametrize("answer", [-1, math.nan])
def test_an_own_function_that_answers_nonsense_is_named(answer: float) -> None:
    def mine(_attempt: int) -> float:
        return answer

    with pytest.raises(ValueError, match=r"what <function .*mine.* answers to attempt 4"):
        seconds(mine, 4)


@pytest.mark.parametrize("answer", [None, "soon"], ids=repr)
def test_an_own_function_that_answers_no_number_is_named(answer: Any) -> None:
    with pytest.raises(TypeError, match="answers to attempt 1 must be a number"):
        seconds(lambda _attempt: answer, 1)


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError("enough"), GeneratorExit("enough"), BaseException("enough")]
)
def test_what_an_own_function_raises_cannot_be_taken_for_a_cancellation(
    error: BaseException,
) -> None:
    def mine(_attempt: int) -> float:
        raise error

    what = rf"<function .*mine.* raised {type(error).__name__} after attempt 2: enough; it must"
    with pytest.raises(RuntimeError, match=what) as caught:
        seconds(mine, 2)

    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt(), SystemExit()])
def test_other_errors_of_an_own_function_and_what_ends_the_process_are_left_as_they_are(
    error: BaseException,
) -> None:
    def mine(_attempt: int) -> float:
        raise error

    with pytest.raises(type(error)) as caught:
        seconds(mine, 2)

    assert caught.value is error


@pytest.mark.parametrize("policy", [Retry, Restart])
def test_a_policy_can_be_made_of_a_function_that_fails_when_it_is_tried(
    policy: type[Retry | Restart],
) -> None:
    def mine(_attempt: int) -> float:
        raise asyncio.CancelledError

    assert policy(backoff=mine).backoff is mine


@pytest.mark.parametrize("attempt", [0, -3])
def test_attempts_are_counted_from_one(attempt: int) -> None:
    with pytest.raises(ValueError, match=f"counted from 1, not {attempt}"):
        seconds(none(), attempt)


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (wait_fixed(3), [3, 3, 3, 3]),
        (wait_exponential(multiplier=1, max=5), [1, 2, 4, 5]),
        (wait_incrementing(start=1, increment=2), [1, 3, 5, 7]),
        (wait_fixed(1) + wait_incrementing(start=0, increment=1), [1, 2, 3, 4]),
    ],
    ids=["fixed", "exponential", "incrementing", "sum"],
)
def test_a_wait_of_tenacity_is_a_backoff(wait: Any, expected: list[float]) -> None:
    backoff = from_tenacity(wait)

    assert [seconds(backoff, attempt) for attempt in (1, 2, 3, 4)] == expected


def test_a_random_wait_of_tenacity_is_a_backoff() -> None:
    assert 8 <= seconds(from_tenacity(wait_fixed(8) + wait_random(0, 1)), 1) <= 9


def test_from_tenacity_refuses_what_cannot_be_called() -> None:
    not_a_wait: Any = 5

    with pytest.raises(TypeError, match=r"write from_tenacity\(wait_exponential"):
        from_tenacity(not_a_wait)


@pytest.mark.parametrize(
    ("jitter", "drawn", "expected"),
    [
        ("full", 0.0, 0),
        ("full", 0.25, 2),
        ("equal", 0.0, 4),
        ("equal", 0.25, 5),
        ("none", 0.25, 8),
    ],
)
def test_jitter_draws_from_its_range(jitter: Jitter, drawn: float, expected: float) -> None:
    assert spread(8, jitter, lambda: drawn) == expected


@given(st.sampled_from(JITTERS), lengths, st.floats(0, ALMOST_ONE))
def test_jitter_never_leaves_zero_to_the_delay(jitter: Jitter, delay: float, drawn: float) -> None:
    assert 0 <= spread(delay, jitter, lambda: drawn) <= delay


@given(lengths, st.floats(1, 1e6), lengths, st.integers(1, 10**6))
def test_exponential_is_never_negative_and_never_above_its_maximum(
    base: float, factor: float, more: float, attempt: int
) -> None:
    maximum = min(base + more, LONGEST)
    backoff = exponential(base, factor=factor, maximum=maximum)

    assert 0 <= seconds(backoff, attempt) <= maximum
    assert seconds(backoff, attempt) <= seconds(backoff, attempt + 1)
