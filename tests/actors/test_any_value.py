"""Any value under any annotation comes back as it was written, or is refused."""

import enum
from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from everstep.actors.errors import NotSerializable, NotValid
from everstep.actors.values import ValueCodec
from tests.actors.values_kit import (
    BERLIN,
    Colour,
    Far,
    Holder,
    Level,
    Movie,
    Name,
    Pair,
    Plain,
    Point,
    Ratio,
    Twin,
    Word,
)

ANNOTATIONS: list[Any] = [
    Any,
    str,
    int,
    float,
    bool,
    bytes,
    list[Any],
    list[int],
    list[float],
    list[str],
    dict[str, Any],
    dict[str, int],
    dict[str, list[float]],
    dict[int, str],
    tuple[int, str],
    tuple[Any, ...],
    set[int],
    frozenset[str],
    set[float],
    int | str,
    float | None,
    bool | int | float | str | None,
    list[int | str | None],
    list[bool | int],
    datetime,
    Decimal,
    timedelta,
    list[datetime | date],
    str | datetime,
    str | bytes,
    Point,
    Point | Twin,
    Holder,
    Ratio,
    Plain,
    Movie,
    Pair,
    Counter[str],
    deque[int],
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=4)
    | st.datetimes(timezones=st.none() | st.just(UTC) | st.just(BERLIN))
    | st.dates()
    | st.decimals()
    | st.timedeltas()
    | st.sampled_from([Colour.RED, Level.LOW, Word.HI, Name("n"), Pair(1), Plain(1), Point(x=1)])
    | st.builds(Point.model_construct, x=st.integers() | st.booleans(), y=st.integers())
    | st.builds(Ratio.model_construct, value=st.floats() | st.integers())
)
KEYS = (
    st.text(max_size=3) | st.integers() | st.sampled_from(["\udce9", "\N{REPLACEMENT CHARACTER}"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Holder.model_construct, anything=inner, point=st.just(Far(x=1)) | st.none())
        | st.sets(st.integers() | st.booleans() | st.floats() | st.text(max_size=2), max_size=3)
        | st.lists(st.integers(), max_size=3).map(deque)
        | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2).map(Counter)
    ),
    max_leaves=6,
)


def flat(value: Any) -> str:
    """All there is in a value, with types, in an order that does not depend on hashes."""
    kind = type(value).__qualname__
    for kinds, inner in INNER:
        if isinstance(value, kinds):
            return f"{kind}({inner(value)})"
    return f"{kind} {value!r}"


INNER: list[tuple[Any, Callable[[Any], str]]] = [
    (BaseModel, lambda model: flat(vars(model))),
    (Plain, lambda plain: flat(vars(plain))),
    (dict, lambda items: str(sorted((flat(key), flat(item)) for key, item in items.items()))),
    ((set, frozenset), lambda members: str(sorted(map(flat, members)))),
    ((list, tuple, deque), lambda items: str(list(map(flat, items)))),
    (datetime, lambda when: when.isoformat()),
    (enum.Enum, lambda member: member.name),
]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(ANNOTATIONS), VALUES)
def test_any_value_under_any_annotation_round_trips_or_fails(annotation: Any, value: Any) -> None:
    codec = ValueCodec.of(annotation)
    try:
        data = codec.encode(value, "x")
    except NotSerializable:
        return

    assert flat(codec.decode(data)) == flat(value)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(ANNOTATIONS), VALUES)
def test_any_validated_value_round_trips_or_fails(annotation: Any, value: Any) -> None:
    codec = ValueCodec.of(annotation)
    try:
        data, valid = codec.settle(value, "x")
    except (NotSerializable, NotValid):
        return

    assert flat(codec.decode(data)) == flat(valid)
    assert flat(codec.validate(value)) == flat(valid)
    assert codec.encode(valid, "x") == data or isinstance(valid, set | frozenset)
