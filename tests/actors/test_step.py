"""`@step`: what it refuses, what it keeps, and what a step is outside a runtime."""

import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import Any, TypeVar, cast
from uuid import UUID

import pytest
from pydantic import BaseModel

from everstep.actors.actor import Actor, steps_of
from everstep.actors.definition import StepDefinition
from everstep.actors.errors import BadActor, BadCall, StateUnreadable
from everstep.actors.retry import Retry
from everstep.actors.schema import Schema
from everstep.actors.state import open_view
from everstep.actors.step import definition_in, step


class Report(Actor):
    topic: str = "t"
    count: int = 0

    @step
    async def load(self, url: str, *, times: int = 1) -> str:
        """Fetch it."""
        self.count += times
        return f"{self.topic}:{url}"

    @step(retry=Retry(max_attempts=5), timeout=timedelta(seconds=3), heartbeat=1, key="url")
    async def keyed(self, url: str = "home") -> "Later":
        return Later(url)

    @step(checkpoint="lazy")
    def in_thread(self) -> str:
        return threading.current_thread().name

    @step
    def nothing(self):  # type: ignore[no-untyped-def]  # a missing annotation is plain JSON
        return None


@dataclass
class Later:
    url: str


def definition(of: Any) -> StepDefinition:
    found = definition_in(of)
    assert found is not None
    return found


async def test_outside_a_runtime_a_step_is_the_plain_function_on_that_instance() -> None:
    report = Report()

    assert await report.load("u", times=2) == "t:u"
    assert report.count == 2


async def test_outside_a_runtime_a_plain_def_runs_in_a_thread() -> None:
    assert await Report().in_thread() != threading.current_thread().name


def test_a_step_keeps_its_name_documentation_and_signature() -> None:
    assert Report.load.__name__ == "load"
    assert Report.load.__doc__ == "Fetch it."
    assert str(inspect.signature(Report.load)) == "(self, url: str, *, times: int = 1) -> str"


def test_options_are_kept_in_seconds() -> None:
    options = definition(Report.keyed).options

    assert options.retry == Retry(max_attempts=5)
    assert (options.timeout, options.heartbeat, options.key) == (3.0, 1.0, "url")
    assert not options.lazy
    assert definition(Report.in_thread).options.lazy
    assert definition(Report.in_thread).sync
    assert not definition(Report.load).sync


async def test_a_call_in_a_runtime_goes_to_the_anchor_at_once() -> None:
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    class Anchor:
        @property
        def ctx(self) -> Any:
            return None

        def call(
            self, definition: StepDefinition, args: Any, kwargs: Any
        ) -> Coroutine[Any, Any, Any]:
            calls.append((definition.name, args, kwargs))
            return asyncio.sleep(0, "done")

        def unreadable(self, error: StateUnreadable) -> BaseException:
            raise AssertionError("nothing is touched here")

    schema = Schema.of(Report)
    view = open_view(schema, schema.frame({}), Anchor(), family=None)
    assert isinstance(view, Report)

    coroutines = [view.load("u", times=3), view.in_thread()]

    assert calls == [("load", ("u",), {"times": 3}), ("in_thread", (), {})]
    assert await asyncio.gather(*coroutines) == ["done", "done"]


async def test_what_only_shows_the_state_runs_its_steps_as_plain_functions() -> None:
    schema = Schema.of(Report)
    view = open_view(schema, schema.frame({"topic": b'"s"'}), None, family=None)
    assert isinstance(view, Report)

    assert await view.load("u") == "s:u"


async def test_a_step_called_on_something_else_than_an_actor_is_refused() -> None:
    class Other:
        @step
        async def load(self) -> None: ...

    with pytest.raises(BadActor, match=r"class Other\(Actor\)"):
        await Other().load()


async def test_a_step_called_on_the_class_of_its_actor_is_refused() -> None:
    class Page(Actor):
        @step
        async def load(self, url: str = "") -> None: ...

    with pytest.raises(BadCall, match="self='http://a': is no actor: load was called on its class"):
        await Page.load("http://a")  # type: ignore[arg-type]  # the mistake


async def test_a_step_outside_of_a_class_is_refused_when_it_is_called() -> None:
    @step
    async def lone(number: int) -> int:
        return number

    with pytest.raises(BadActor, match=r"outside of a class.*derived from Actor, or no @step"):
        await lone(3)


F = TypeVar("F", bound=Callable[..., Any])


def wrapping(fn: F) -> F:
    @functools.wraps(fn)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return cast("F", inner)


async def test_a_decorated_async_def_is_awaited_and_not_run_in_a_thread() -> None:
    class Wrapped(Actor):
        @step
        @wrapping
        async def load(self) -> int:
            return 5

    assert not steps_of(Wrapped)["load"].sync
    assert await Wrapped().load() == 5


# --- what is refused where it is written ------------------------------------------------


decorate: Any = step


async def no_self() -> None: ...


async def no_self_but_more(*, url: str) -> None: ...


async def a_step(self: Any, url: str) -> None: ...


async def a_generator(self: Any) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("target", "options", "why"),
    [
        (no_self, {}, "it has no self"),
        (no_self_but_more, {}, "it has no self"),
        (int, {}, "it is no function"),
        (functools.partial(print), {}, "it is no function"),
        (classmethod(a_step), {}, "a classmethod has no actor"),
        (staticmethod(a_step), {}, "a staticmethod has no actor"),
        (a_generator, {}, "a generator has no one result"),
        (step(a_step), {}, "decorated twice"),
        (a_step, {"thread": True}, "does not run in a thread"),
        (a_step, {"key": "uri"}, 'it has: url); write key="url"'),
    ],
)
def test_a_step_that_cannot_work_is_refused_where_it_is_written(
    target: Any, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(BadActor) as caught:
        decorate(**options)(target)

    assert why in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"timeout": "3"},
        {"timeout": True},
        {"timeout": timedelta(0)},
        {"timeout": 10**400},
        {"heartbeat": 0},
        {"heartbeat": 10**400},
        {"key": 3},
        {"key": "not a name"},
        {"checkpoint": "never"},
        {"checkpoint": ["each"]},
        {"thread": 1},
        {"retry": 3},
    ],
    ids=str,
)
def test_an_option_that_cannot_work_is_refused_where_it_is_written(options: Any) -> None:
    with pytest.raises(BadCall, match=next(iter(options))):
        step(**options)


# --- outputs ----------------------------------------------------------------------------


def test_the_output_may_be_a_class_that_is_defined_later() -> None:
    assert definition(Report.keyed).output.decode(b'{"url":"x"}') == Later("x")


def test_the_output_may_be_a_class_of_the_function_around() -> None:
    @dataclass
    class Local:
        n: int

    class Own(Actor):
        @step
        async def bare(self) -> "list[Local]":
            return [Local(1)]

        @step(timeout=3)
        async def with_options(self) -> "Local":
            return Local(1)

        @step
        async def me(self) -> "Own":
            return self

    bare, with_options, me = (found.of(Own) for found in steps_of(Own).values())
    assert bare.output.decode(b'[{"n":2}]') == [Local(2)]
    assert with_options.output.decode(b'{"n":2}') == Local(2)
    assert me.output.decode(b"{}") == Own()


def test_an_output_whose_class_is_nowhere_is_refused_when_it_is_needed() -> None:
    class Own(Actor):
        @step
        async def lost(self) -> "Nowhere":  # type: ignore[name-defined]  # noqa: F821
            ...

    with pytest.raises(BadActor, match="Nowhere"):
        steps_of(Own)["lost"].of(Own)


def test_an_output_that_holds_what_is_not_defined_is_refused_when_it_is_needed() -> None:
    class Half(BaseModel):
        other: "Nowhere"  # type: ignore[name-defined]  # noqa: F821

    class Own(Actor):
        @step
        async def half(self) -> Half:
            return Half(other=1)

    with pytest.raises(BadActor, match="Nowhere"):
        steps_of(Own)["half"].of(Own)


def test_an_annotation_that_is_no_python_is_refused_when_it_is_needed() -> None:
    class Own(Actor):
        @step
        async def odd(self): ...  # type: ignore[no-untyped-def]

    definition = steps_of(Own)["odd"]
    definition.function.__annotations__["return"] = "list["
    with pytest.raises((BadActor, SyntaxError)):
        definition.of(Own)


def test_a_missing_annotation_is_plain_json() -> None:
    output = definition(Report.nothing).output

    assert output.decode(output.encode({"a": [1]}, "x")) == {"a": [1]}


# --- keys -------------------------------------------------------------------------------


class Kind(Enum):
    BIG = "big"
    ODD = object()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (5, "5"),
        (True, "true"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Kind.BIG, "big"),
        (Kind.ODD, "ODD"),
        (date(2024, 1, 2), "2024-01-02"),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
        ((1, "a"), '["1", "a"]'),
    ],
)
def test_a_key_is_the_canonical_text_of_the_named_parameter(value: Any, text: str) -> None:
    keyed = definition(Report.keyed)

    assert keyed.key_of((value,), {}) == text
    assert keyed.key_of((), {"url": value}) == text


def test_a_key_is_the_default_where_the_call_says_nothing() -> None:
    assert definition(Report.keyed).key_of((), {}) == "home"


def test_a_step_without_key_has_the_empty_one() -> None:
    assert definition(Report.load).key_of(("u",), {}) == ""


def test_a_key_may_be_a_function_of_the_arguments() -> None:
    class Own(Actor):
        @step(key=lambda a, b=2: a + b)
        async def load(self, a: int, b: int = 2) -> None: ...

    assert steps_of(Own)["load"].key_of((1,), {}) == "3"


@pytest.mark.parametrize("value", [None, "", [1], object(), b"x", (None,)])
def test_a_key_that_tells_nothing_apart_is_refused(value: Any) -> None:
    with pytest.raises(BadCall, match="the key of the step keyed"):
        definition(Report.keyed).key_of((value,), {})
