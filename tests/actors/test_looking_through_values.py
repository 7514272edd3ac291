"""A value is written before it is looked through, and is at once what later lives read."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from everstep.actors.errors import NotSerializable
from everstep.actors.values import ValueCodec
from tests.actors.values_kit import BERLIN


def _twice_itself() -> list[Any]:
    value: list[Any] = []
    value += [value, value]
    return value


class Branch(BaseModel):
    branches: list[Branch] = []


def _branch_of_itself() -> Branch:
    branch = Branch()
    branch.branches += [branch, branch]
    return branch


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(Any, _twice_itself()), (list[Any], _twice_itself()), (Branch, _branch_of_itself())],
)
def test_a_value_that_holds_itself_is_refused_before_it_is_looked_through(
    annotation: Any, value: Any
) -> None:
    codec = ValueCodec.of(annotation)
    with pytest.raises(NotSerializable):
        codec.encode(value, "x")
    with pytest.raises(NotSerializable):
        codec.settle(value, "x")


def test_a_chain_too_deep_to_be_looked_through_is_refused_or_comes_back() -> None:
    codec, chain = ValueCodec.of(Branch), Branch()
    for _ in range(220):
        chain = Branch(branches=[chain])
    try:
        data, _ = codec.settle(chain, "x")
    except NotSerializable:
        return
    assert codec.decode(data) == chain


def test_an_instant_is_at_once_what_later_lives_read() -> None:
    codec, instant = ValueCodec.of(datetime), datetime(2026, 3, 1, 12, tzinfo=BERLIN)
    data, settled = codec.settle(instant, "x")

    assert settled == instant
    half_a_year = timedelta(days=182)
    assert settled + half_a_year == codec.decode(data) + half_a_year != instant + half_a_year
