"""Every error survives the way to another process, with its facts and its words."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest

from everstep import BadCall, EverstepError
from everstep.actors.failures import Failure, failure_of

SAMPLES: dict[Any, Any] = {
    str: "words of it",
    str | None: "more words",
    bool: False,
    int: 3,
    int | None: 4,
    float: 1.5,
    object: ("any", "value"),
    list[int]: [1, 2],
    tuple[str, ...]: ("one", "two"),
    Failure: failure_of(ValueError("the cause")),
}
"""A value for each type that an error takes."""


def leaves(kind: type[EverstepError] = EverstepError) -> Iterator[type[EverstepError]]:
    """The library's own errors, whatever other tests have defined."""
    for below in kind.__subclasses__():
        if below.__module__.startswith("everstep."):
            yield below
        yield from leaves(below)


ERRORS = sorted(set(leaves()), key=lambda kind: (kind.__module__, kind.__name__))


def made(kind: type[EverstepError]) -> EverstepError:
    """An error of this class from sample facts."""
    hints = get_type_hints(kind.__init__)
    facts = {
        name: SAMPLES[hints[name]]
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    positional = inspect.signature(kind).bind(**facts)
    return kind(*positional.args, **positional.kwargs)


def test_all_groups_of_errors_are_looked_at() -> None:
    modules = {kind.__module__ for kind in ERRORS}

    assert {
        "everstep.actors.errors",
        "everstep.actors.failures",
        "everstep.errors",
        "everstep.storage.errors",
        "everstep.supervisor.errors",
    } <= modules


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("way", ["pickle", "copy"])
def test_an_error_comes_back_with_its_facts_and_its_words(
    kind: type[EverstepError], way: str
) -> None:
    error = made(kind)

    back = pickle.loads(pickle.dumps(error)) if way == "pickle" else copy.copy(error)

    assert type(back) is kind
    assert str(back) == str(error) != ""
    assert back.args == error.args
    assert vars(back) == vars(error)


@pytest.mark.parametrize("raised", [RuntimeError("no"), asyncio.CancelledError()])
def test_a_bad_call_is_told_though_the_value_cannot_be_shown(raised: BaseException) -> None:
    class Silent:
        def __repr__(self) -> str:
            raise raised

    error = BadCall("limit", Silent(), "is no number", "limit=3")

    assert str(error) == "limit=<Silent>: is no number; write limit=3"
