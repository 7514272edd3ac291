"""Digests of arguments are the same wherever and whenever they are made."""

import os
import re
import subprocess
import sys
import textwrap
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from everstep.actors.definition import function_step
from everstep.actors.digest import digest
from everstep.actors.identity import stable_id
from everstep.actors.log import Log
from everstep.actors.values import Limits

LIMITS = Limits()


class Point(BaseModel):
    x: int
    tags: set[str] = set()


@dataclass
class Plain:
    x: int
    tags: set[str]


async def fetch(url: str, /, times: int = 1, *more: int, deep: bool = False, **rest: Any) -> None:
    """Takes arguments in each way there is."""


def of(*args: Any, **kwargs: Any) -> str:
    return function_step(fetch).digest_of(args, kwargs)[0]


def test_arguments_are_bound_by_name_and_defaults_are_left_out() -> None:
    assert of("u") == of("u", 1) == of("u", times=1, deep=False)
    assert of("u", 2) == of("u", times=2)
    assert of("u", 2) != of("u", 3)
    assert of("u", a=1, b=2) == of("u", b=2, a=1)
    assert of("u", 1, 2) != of("u", 1, 3)
    assert function_step(named).digest_of((1,), {"c": 3})[1] == "a=1, c=3"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, "1"),
        (1, 1.0),
        (0, False),
        (None, "null"),
        ([1], [1, 1]),
        ({"a": 1}, {"a": 2}),
    ],
    ids=repr,
)
def test_different_arguments_have_different_digests(one: Any, other: Any) -> None:
    assert of(one) != of(other)


def test_a_default_counts_as_left_out_only_where_its_type_is_the_same() -> None:
    assert of("u", True) != of("u", 1)


async def named(a: int, b: int = 1, *, c: int) -> None:
    """Has a parameter that must be named."""


@pytest.mark.parametrize(
    ("fn", "args", "kwargs"),
    [(fetch, (), {}), (named, (1, 2), {}), (named, (1, 2, 3), {"c": 1}), (named, (1,), {"d": 1})],
)
def test_arguments_that_do_not_fit_are_a_type_error(fn: Any, args: Any, kwargs: Any) -> None:
    with pytest.raises(TypeError, match=fn.__name__):
        function_step(fn).digest_of(args, kwargs)


def test_no_arguments_are_one_digest() -> None:
    assert digest({}, LIMITS) == ("no arguments", "no arguments")


def test_keys_and_members_are_sorted() -> None:
    assert of({"a": 1, "b": 2}) == of({"b": 2, "a": 1})
    assert of({"a", "b", "c"}) == of({"c", "b", "a"})
    assert of(Point(x=1, tags={"a", "b"})) == of(Point(x=1, tags={"b", "a"}))
    assert of(Plain(1, {"a", "b"})) == of(Plain(1, {"b", "a"}))


def test_a_log_and_what_is_too_large_count_as_their_type() -> None:
    assert of(Log(["a"])) == of(Log(["b"]))
    assert of("a" * 70_000) == of("b" * 70_000)
    assert of(["a"] * 70_000) == of(["b"] * 70_000)
    assert of("a" * 100) != of("b" * 100)


def test_what_does_not_encode_counts_as_its_type() -> None:
    circle: list[Any] = []
    circle.append(circle)

    assert of(object()) == of(object())
    assert of(lambda: 1) == of(lambda: 2)
    assert of(circle) == of([circle])
    assert of({1: 1, "a": 2}) == of({(1, 2): 1})


def test_a_preview_is_short_and_shows_every_argument() -> None:
    preview = digest({"url": "u" * 5000, "times": 3}, LIMITS)[1]

    assert len(preview) <= LIMITS.preview
    assert preview.startswith('times=3, url="uuu')
    assert preview.endswith("…")


SCRIPT = textwrap.dedent(
    """
    from everstep.actors.digest import digest
    from everstep.actors.values import Limits
    print(digest({"a": {"x", "y", "z"}, "b": {"k": frozenset({1, 2})}}, Limits())[0])
    """
)


@pytest.mark.real
def test_a_digest_is_the_same_under_another_hash_seed() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(digests) == 1


def test_a_stable_id_is_a_uuid_made_of_its_parts() -> None:
    found = stable_id(b"seed", "task", "key")

    assert found == stable_id(b"seed", "task", "key")
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", found
    )
    assert uuid.UUID(found).version == 8


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_other_parts_are_another_id(one: list[str], other: list[str]) -> None:
    assert (stable_id(b"s", *one) == stable_id(b"s", *other)) == (one == other)
    assert stable_id(b"s", *one) != stable_id(b"t", *one)
