"""A value comes back as it was written, or is refused when it is written."""

import enum
import math
import re
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Optional
from uuid import UUID

import pytest
from pydantic import Field, SecretStr

from everstep.actors.errors import NotSerializable, NotValid, PayloadTooLarge
from everstep.actors.same import difference
from everstep.actors.values import Limits, ValueCodec
from tests.actors.values_kit import (
    BERLIN,
    NAN,
    Aliased,
    Box,
    Cat,
    Checked,
    Colour,
    Computed,
    Dog,
    Far,
    Frozen,
    Hidden,
    Holder,
    Level,
    Lossy,
    Movie,
    Name,
    Pair,
    Pet,
    Plain,
    Point,
    Ratio,
    Rich,
    Secretive,
    Tags,
    Tree,
    Twin,
    Word,
    computed,
    unchecked,
)


def label(value: object) -> str:
    """A name that does not depend on the hash seed or on addresses."""
    text = repr(value)
    return type(value).__name__ if "0x" in text or "{" in text else text


ROUND: list[tuple[Any, Any]] = [
    (str, ""),
    (str, "ü\n\x00\u2028😀"),
    (int, 2**200),
    (int, 10**4000),
    (list[Any], [[[[[[[[{"a": [[]]}]]]]]]]]),
    (int, -(2**63)),
    (float, NAN),
    (float, math.inf),
    (float, -0.0),
    (float, 5e-324),
    (float, 1.7976931348623157e308),
    (bool, True),
    (type(None), None),
    (Any, None),
    (Any, {"a": [1, 2.5, "x", None, True, {"b": []}]}),
    (list[float], [1.0, -0.0, NAN, -math.inf]),
    (dict[str, float], {"a": NAN}),
    (int | None, None),
    (Optional[str], "x"),  # noqa: UP045  (users write it)
    (int | str, "5"),
    (int | str, 5),
    (int | bool, True),
    (int | bool, 1),
    (float | int, 1),
    (float | int, 1.0),
    (datetime, datetime(2024, 2, 29, 12, 30, 15, 123456)),
    (datetime, datetime(2024, 2, 29, 12, 30, tzinfo=UTC)),
    (datetime, datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=5, minutes=45)))),
    (datetime, datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN)),
    (datetime, datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=1)),
    (datetime, datetime(1, 1, 1)),
    (date, date(9999, 12, 31)),
    (time, time(23, 59, 59, 999999)),
    (time, time(1, 2, tzinfo=UTC)),
    (timedelta, timedelta(days=-3, microseconds=1)),
    (timedelta, timedelta(days=100_000, seconds=1)),
    (Decimal, Decimal("1.10")),
    (Decimal, Decimal("1E+30")),
    (UUID, UUID(int=5)),
    (Path, Path("a/b")),
    (IPv4Address, IPv4Address("10.0.0.1")),
    (re.Pattern[str], re.compile("a+")),
    (bytes, b"\xff\x00"),
    (list[bytes], [b"", b"\xfe"]),
    (Colour, Colour.BLUE),
    (Level, Level.LOW),
    (Word, Word.HI),
    (dict[Word, int], {Word.HI: 1}),
    (dict[Colour, int], {Colour.RED: 1}),
    (list[Colour | None], [Colour.RED, None]),
    (dict[int, str], {1: "a", -2: "b"}),
    (dict[UUID, date], {UUID(int=1): date(2024, 1, 1)}),
    (dict[str, Any], {"a": [1, None]}),
    (set[int], {3, 1, 2}),
    (frozenset[str], frozenset({"a", "b"})),
    (set[tuple[int, str]], {(1, "a")}),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2, 3)),
    (tuple[()], ()),
    (deque[int], deque([1, 2])),
    (Counter[str], Counter("abca")),
    (defaultdict[str, list[int]], defaultdict(list, {"a": [1]})),
    (OrderedDict[str, int], OrderedDict(b=1, a=2)),
    (Point, Point(x=1)),
    (list[Point], [Point(x=1), Point(x=2, y=3)]),
    (Point | Far, Far(x=1)),
    (Point | None, None),
    (Tree, Tree(value=1, children=[Tree(value=2)])),
    (Box[int], Box[int](content=1)),
    (Box[Point], Box[Point](content=Point(x=1))),
    (Holder, Holder(anything={"a": 1}, point=Point(x=1))),
    (Pet, Dog(lives=3)),
    (list[Pet], [Cat(), Dog()]),
    (Tags, Tags(["a"])),
    (Hidden, Hidden()),
    (Secretive, Secretive()),
    (Lossy, Lossy(text="abc")),
    (Plain, Plain(1, ["x"])),
    (Computed, Computed(1)),
    (Frozen, Frozen(datetime(2024, 1, 1, tzinfo=UTC))),
    (Checked, Checked(a=1)),
    (Movie, {"title": "x", "year": 1}),
    (Movie, {"year": 1, "title": "x"}),
    (Movie, {"title": "x"}),
    (Pair, Pair(1, "b")),
    (Rich, Rich()),
    (list[Rich], [Rich(text="x", inner=Rich(number=2)), Rich(points={"a": [Point(x=1)]})]),
    (Rich, Rich(plain={"a": [1, 2.5, None, {"b": "c"}]}, when=datetime(2024, 1, 1))),
    (list[Pair], [Pair(1)]),
    (Literal["a", 1], 1),
    (Annotated[int, Field(gt=0)], 5),
]

REFUSED: list[tuple[Any, Any]] = [
    (str, Name("x")),
    (str, Word.HI),
    (str, 1),
    (str, None),
    (str, "\ud800"),
    (int, True),
    (int, Level.LOW),
    (int, 1.0),
    (int, "1"),
    (float, 1),
    (float, True),
    (bool, 1),
    (Any, (1, 2)),
    (Any, {1: 2}),
    (Any, {True: 1}),
    (Any, datetime(2024, 1, 1)),
    (Any, Decimal(1)),
    (Any, b"x"),
    (Any, Point(x=1)),
    (Any, {"a"}),
    (Any, Colour.RED),
    (Any, Name("x")),
    (Any, NAN),
    (Any, object()),
    (Any, lambda: None),
    (Any, SecretStr("x")),
    (Any, [[1, {"a": (1,)}]]),
    (list[int], (1, 2)),
    (list[int], [True]),
    (list[str], ["a", Name("b")]),
    (list[Any], [Point(x=1)]),
    (dict[str, int], {"a": True}),
    (dict[str, int], {1: 1}),
    (dict[str, int], OrderedDict(a=1)),
    (dict[str, int], defaultdict(int)),
    (dict[str, Any], {Word.HI: 1}),
    (tuple[int, ...], Pair(1)),
    (SecretStr, SecretStr("x")),
    (Point, Far(x=1)),
    (list[Point], [Far(x=1)]),
    (dict[str, Point], {"a": Far(x=1)}),
    (Holder, Holder.model_construct(point=Far(x=1))),
    (Point | None, Far(x=1)),
    (Point | Twin, Twin(x=1)),
    (Point, {"x": 1, "y": 0}),
    (Holder, Holder(anything=(1,))),
    (Holder, Holder(anything=datetime(2024, 1, 1))),
    (Ratio, Ratio(value=NAN)),
    (list[Ratio], [Ratio(value=1.0), Ratio(value=math.inf)]),
    (Ratio, Ratio.model_construct(value=1)),
    (Point, Point.model_construct(x=True)),
    (Point, unchecked(Point, x="1")),
    (Point, unchecked(Point, y=1)),
    (Hidden, Hidden(hidden=5)),
    (Aliased, Aliased(theValue=1)),
    (Lossy, Lossy(text="abcdef")),
    (Computed, computed(1, twice=2)),
    (dict[Colour, int], {Colour.BLUE: 2}),
    (Frozen, Frozen(datetime(2024, 1, 1), quiet=True)),
    (deque[int], deque([1], maxlen=3)),
    (defaultdict[str, int], defaultdict(lambda: 5, {"a": 1})),
    (time, time(1, tzinfo=BERLIN)),
    (Annotated[int, Field(gt=0)], 0),
    (Annotated[str, Field(min_length=2)], "x"),
    (Literal["a", 1], True),
    (Movie, {"title": "x", "other": 1}),
    (Movie, {"year": 1}),
    (Rich, unchecked(Rich, inner=unchecked(Rich, number=True))),
    (Rich, unchecked(Rich, points={"a": [Far(x=1)]})),
    (Rich, unchecked(Rich, points={Word.HI: []})),
    (Rich, unchecked(Rich, share=1)),
    (Rich, unchecked(Rich, share=NAN)),
    (Rich, unchecked(Rich, day=datetime(2024, 1, 1))),
    (list[Rich], [Rich(), Rich(plain={"a": (1,)})]),
    (Rich, Rich(plain={1: 2})),
    (Rich, Rich(plain=[NAN])),
    (Fraction, 0.5),
    (type(None), 1),
]


def alike(left: object, right: object) -> bool:
    """An opinion of its own on what is the same, for values whose repr tells all."""
    return type(left) is type(right) and repr(left) == repr(right)


def write(annotation: Any, value: Any) -> bytes:
    return ValueCodec.of(annotation).encode(value, "the field 'x'")


@pytest.mark.parametrize(("annotation", "value"), ROUND, ids=label)
def test_a_value_comes_back_the_same(annotation: Any, value: Any) -> None:
    codec = ValueCodec.of(annotation)

    back = codec.decode(codec.encode(value, "the field 'x'"))

    assert difference(value, back) is None
    assert type(back) is type(value)
    assert (
        back == value
        or back != back
        or "nan" in repr(value)
        or "fold" in repr(value)
        or (getattr(value, "tzinfo", None) is BERLIN)
    )


@pytest.mark.parametrize(("annotation", "value"), REFUSED, ids=label)
def test_a_value_that_would_not_come_back_is_refused_by_name(annotation: Any, value: Any) -> None:
    with pytest.raises(NotSerializable, match="the field 'x'"):
        write(annotation, value)


class Unheard:
    """A class of which pydantic knows nothing."""

    def speak(self) -> None: ...


@pytest.mark.parametrize("value", [Unheard(), [1, {"a": Unheard()}]], ids=["itself", "within"])
def test_a_type_that_pydantic_does_not_know_is_not_advised_to_be_declared(value: Any) -> None:
    with pytest.raises(NotSerializable, match="make Unheard a BaseModel or a dataclass") as caught:
        write(Any, value)

    assert "declare" not in str(caught.value) and "PrivateAttr()" in str(caught.value)
    with pytest.raises(NotSerializable, match="make Unheard a BaseModel"):
        write(Unheard, Unheard())


@pytest.mark.parametrize("value", [lambda: 3, len, [Unheard().speak]])
def test_of_a_function_it_is_said_that_it_cannot_be_stored(value: Any) -> None:
    with pytest.raises(NotSerializable, match="functions cannot be stored") as caught:
        write(Any, value)

    assert "declare" not in str(caught.value)


def test_a_private_attribute_that_was_set_is_not_lost_in_silence() -> None:
    value = Secretive()
    value._cache["a"] = 1

    with pytest.raises(NotSerializable, match="private attribute"):
        write(Secretive, value)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(int, 10**5000), (Any, [10**5000]), (list[int], [1, -(10**4300)])],
    ids=["int", "any", "list"],
)
def test_a_number_that_python_would_not_read_is_refused(annotation: Any, value: Any) -> None:
    codec = ValueCodec.of(annotation)

    with pytest.raises(NotSerializable):
        codec.encode(value, "x")
    with pytest.raises(NotSerializable):
        codec.settle(value, "x")


def test_what_is_in_a_circle_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)

    with pytest.raises(NotSerializable):
        write(Any, circle)


def test_what_is_nested_too_deeply_to_be_read_is_refused() -> None:
    deep: Any = []
    for depth in range(3000):
        deep = [deep]
        if depth in {120, 250, 2000}:
            try:
                data = write(Any, deep)
            except NotSerializable:
                continue
            assert ValueCodec.of(Any).decode(data) == deep

    with pytest.raises(NotSerializable):
        write(Any, deep)


def test_a_type_that_pydantic_does_not_know_is_refused_with_the_reason() -> None:
    codec = ValueCodec.of(NotRequired)

    assert codec.refusal is not None
    assert "typing.NotRequired" in codec.refusal


def test_a_value_over_the_limit_is_refused_with_both_sizes() -> None:
    with pytest.raises(PayloadTooLarge, match=r"12 bytes.*limit is 10"):
        ValueCodec.of(str).encode("a" * 10, "the field 'x'", Limits(value=10))


def test_unions_that_differ_in_order_alone_have_their_own_codec() -> None:
    first, second = ValueCodec.of(Point | Twin), ValueCodec.of(Twin | Point)

    assert type(first.decode(b'{"x":1}')) is Point
    assert type(second.decode(b'{"x":1}')) is Twin


def test_what_cannot_be_hashed_has_a_codec_too() -> None:
    codec = ValueCodec.of(Annotated[int, {"not": "hashed"}])

    assert codec.decode(codec.encode(5, "x")) == 5


def test_the_codec_of_an_annotation_is_made_once() -> None:
    assert ValueCodec.of(list[Point]) is ValueCodec.of(list[Point])


def test_a_validated_value_has_the_type_that_is_declared() -> None:
    codec = ValueCodec.of(list[float])

    valid = codec.validate([1, 2])

    assert alike(valid, [1.0, 2.0])
    assert codec.encode(valid, "x") == b"[1.0,2.0]"


def test_an_enum_that_pydantic_takes_for_a_number_is_refused() -> None:
    class Colour(enum.Enum):
        RED = "red"

    with pytest.raises(NotSerializable, match="Expected `int`"):
        ValueCodec.of(list[int]).settle([Colour.RED], "x")


@pytest.mark.parametrize(("annotation", "value"), [*ROUND, *REFUSED], ids=label)
def test_what_validation_made_of_a_value_comes_back_or_is_refused(
    annotation: Any, value: Any
) -> None:
    codec = ValueCodec.of(annotation)
    try:
        data, valid = codec.settle(value, "x")
    except (NotSerializable, NotValid):
        return

    assert difference(valid, codec.decode(data)) is None
