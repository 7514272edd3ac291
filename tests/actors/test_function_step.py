"""Any function, or what can be called, as a step."""

import functools
import gc
import weakref
from dataclasses import dataclass
from typing import Any, Self

import pytest

from everstep.actors.actor import Actor, steps_of
from everstep.actors.definition import function_step, named_step
from everstep.actors.errors import BadCall
from everstep.actors.log import Log
from everstep.actors.step import step


@dataclass
class Page:
    url: str


async def fetch(url: str, times: int = 1) -> list[str]:
    return [url] * times


class Fetcher:
    def __init__(self) -> None:
        self.url = "u"

    async def __call__(self, times: int) -> int:
        return times

    def method(self, times: int) -> int:
        return times


@pytest.mark.parametrize(
    ("fn", "name", "sync"),
    [
        (fetch, "fetch", False),
        (functools.partial(fetch, times=2), "fetch", False),
        (Fetcher(), "Fetcher", False),
        (Fetcher().method, "method", True),
        (len, "len", True),
        (Page, "Page", True),
    ],
)
def test_any_callable_can_be_a_step(fn: Any, name: str, sync: bool) -> None:
    found = function_step(fn)

    assert (found.name, found.sync, found.method) == (name, sync, False)
    assert found.options.retry is None


@pytest.mark.parametrize("fn", [lambda: 3, functools.partial(lambda: 3)])
def test_a_lambda_is_a_step_by_the_name_that_it_is_given(fn: Any) -> None:
    with pytest.raises(BadCall, match=r'is a lambda.*write ctx.step.lambda: …, name="fetch"'):
        named_step(fn, None)

    assert named_step(fn, "load").name == "load"


def test_a_function_as_a_step_has_its_own_output_and_arguments() -> None:
    found = function_step(fetch, "get it")

    assert found.name == "get it"
    assert found.output.decode(b'["a"]') == ["a"]
    assert found.digest_of(("a", 1), {}) == found.digest_of((), {"url": "a"})
    assert function_step(fetch, "get it") is found
    assert function_step(len).digest_of(("a",), {})[1] == 'obj="a"'
    assert function_step(range).digest_of((3,), {})[1] == "0=3"


def test_what_wraps_a_function_has_a_definition_of_its_own() -> None:
    inner = function_step(fetch)

    @functools.wraps(fetch)
    async def outer(url: str) -> list[str]:
        return await fetch(url)

    assert function_step(outer) is not inner
    assert function_step(outer).function is outer
    assert function_step(fetch) is inner


def test_functions_and_classes_are_not_kept_alive_by_their_definitions() -> None:
    def function() -> weakref.ref[Any]:
        async def passing() -> int:
            return 1

        for number in range(200):
            function_step(passing, f"name {number}")
        return weakref.ref(passing)

    def actor() -> weakref.ref[Any]:
        class Passing(Actor):
            @step
            async def me(self) -> Self:
                return self

        steps_of(Passing)["me"].of(Passing)
        return weakref.ref(Passing)

    gone = [function(), actor()]
    gc.collect()

    assert [ref() for ref in gone] == [None, None]


def test_what_cannot_be_called_is_no_step() -> None:
    with pytest.raises(BadCall):
        function_step(3)  # type: ignore[arg-type]  # that is the point


def test_a_log_may_be_an_argument() -> None:
    assert function_step(fetch).digest_of((Log(["a"]),), {})[1] == 'url="<Log>"'
