"""What a class of actor may look like, and what an actor is outside a runtime."""

import copy
import gc
import pickle
import types
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, field_validator

from everstep.actors.actor import (
    Actor,
    actor_name,
    actor_version,
    all_actors,
    check_plan,
    is_flow,
    steps_of,
)
from everstep.actors.errors import BadActor, NoRuntime
from everstep.actors.log import Log
from everstep.actors.schema import Schema
from everstep.actors.step import step

T = TypeVar("T")


class Report(Actor):
    topic: str
    sources: list[str] = []
    notes: Log[str] = Log()

    @step
    async def load(self) -> None:
        self.sources = [self.topic]

    @step
    async def publish(self) -> str:
        return self.topic


def test_a_name_is_that_of_the_class_or_the_one_given() -> None:
    class Given(Actor, name="report", version=3):
        pass

    class Below(Given):
        pass

    assert (actor_name(Report), actor_version(Report)) == ("Report", 1)
    assert (actor_name(Given), actor_version(Given)) == ("report", 3)
    assert (actor_name(Below), actor_version(Below)) == ("Below", 1)


@pytest.mark.parametrize("keywords", [{"name": ""}, {"name": 3}, {"version": 0}, {"version": True}])
def test_a_name_or_version_that_is_none_is_refused(keywords: dict[str, Any]) -> None:
    with pytest.raises(BadActor, match="the actor Odd"):
        types.new_class("Odd", (Actor,), keywords)


def test_the_steps_of_a_plan_stand_as_written_bases_first_and_overrides_in_place() -> None:
    class Base(Actor):
        @step
        async def first(self) -> None: ...
        @step
        async def second(self) -> None: ...

    class Below(Base):
        @step
        async def third(self) -> None: ...
        @step
        async def first(self) -> None: ...

    assert list(steps_of(Below)) == ["first", "second", "third"]
    assert steps_of(Below)["first"].function is not steps_of(Base)["first"].function


def test_a_mixin_that_is_no_actor_brings_its_steps() -> None:
    class Mixin:
        @step
        async def mixed(self) -> None: ...

    class Own(Mixin, Actor):
        @step
        async def own(self) -> None: ...

    assert list(steps_of(Own)) == ["mixed", "own"]


def test_an_actor_with_a_run_is_a_flow() -> None:
    class Flow(Actor):
        async def run(self) -> int:
            return 1

    class Below(Flow):
        pass

    assert is_flow(Flow)
    assert is_flow(Below)
    assert not is_flow(Report)


def test_extra_fields_are_refused() -> None:
    with pytest.raises(ValidationError):
        Report(topic="x", other=1)  # type: ignore[call-arg]  # that is the point


def test_outside_a_runtime_there_is_no_ctx() -> None:
    with pytest.raises(NoRuntime, match=r"Report is not run by a runtime.*start it"):
        _ = Report(topic="x").ctx


def test_an_actor_outside_a_runtime_is_an_ordinary_model() -> None:
    report = Report(topic="x", notes=Log(["n"]))

    assert report == Report.model_validate_json(report.model_dump_json())
    assert report.model_dump() == {"topic": "x", "sources": [], "notes": Log(["n"])}
    assert report == copy.copy(report) == copy.deepcopy(report) == report.model_copy()
    assert report == pickle.loads(pickle.dumps(report))
    assert repr(report) == "Report(topic='x', sources=[], notes=Log(['n']))"
    assert dict(report)["topic"] == "x"


def test_a_default_log_is_not_shared() -> None:
    one, other = Report(topic="a"), Report(topic="b")

    one.notes.append("x")

    assert list(other.notes) == []


# --- what is refused when the class is made ---------------------------------------------


def made(base: Any = Actor, **attributes: Any) -> Any:
    """A class, made as a statement would make it, but without a type checker's help."""

    def body(namespace: dict[str, Any]) -> None:
        namespace.update(attributes, __module__=__name__)

    return types.new_class("Odd", (base,), {}, body)


def stepping(name: str) -> Any:
    async def method(self: Any) -> None: ...

    method.__name__ = name
    return step(method)


def fields(**annotations: type) -> dict[str, Any]:
    return {"__annotations__": annotations, **{name: kind() for name, kind in annotations.items()}}


def plain(self: Any) -> None: ...


class Unknown:
    pass


async def returns_unknown(self: Any) -> Unknown:
    return Unknown()


REFUSED: list[tuple[Any, dict[str, Any], str, str]] = [
    (Actor, fields(copy=str), "the field 'copy' of Odd", "copy_value"),
    (Actor, fields(ctx=str), "the field 'ctx' of Odd", "ctx_value"),
    (Actor, fields(run=int), "the field 'run' of Odd", "run_value"),
    (Actor, {"json": stepping("json")}, "the step json of Odd", "json_step"),
    (Actor, {"run": stepping("run")}, "the step run of Odd", "run_step"),
    (Actor, fields(load=int) | {"load": stepping("load")}, "the field 'load' of Odd", "load_value"),
    (Report, {"topic": stepping("topic")}, "the step topic of Odd", "topic_step"),
    (Report, fields(load=int), "the field 'load' of Odd", "load_value"),
    (Report, {"load": plain}, "load of Odd", "@step over it"),
    (Report, {"load": property(plain)}, "load of Odd", "@step over it"),
    (Actor, {"run": plain}, "run of Odd", "async def run"),
    (Actor, {"load": staticmethod(stepping("load"))}, "the step load of Odd", "@step alone"),
    (Actor, {"load": classmethod(stepping("load"))}, "the step load of Odd", "@step alone"),
    (Actor, {"load": property(stepping("load"))}, "the step load of Odd", "@step alone"),
    (Actor, {"again": stepping("load")}, "the step again of Odd", "def again"),
    (Actor, {"model_config": ConfigDict(extra="allow")}, "the actor Odd", "no extra"),
    (
        Actor,
        {"model_config": ConfigDict(validate_assignment=True)},
        "the actor Odd",
        "no validate_assignment",
    ),
    (
        Actor,
        {"model_config": ConfigDict(ser_json_inf_nan="null")},
        "the actor Odd",
        "no ser_json_inf_nan",
    ),
    (Actor, {"returns_unknown": step(returns_unknown)}, "the step returns_unknown", "annotation"),
]


@pytest.mark.parametrize(
    ("base", "attributes", "thing", "remedy"), REFUSED, ids=range(len(REFUSED))
)
def test_a_class_that_cannot_work_is_refused_when_it_is_made(
    base: Any, attributes: dict[str, Any], thing: str, remedy: str
) -> None:
    with pytest.raises(BadActor) as caught:
        made(base, **attributes)

    assert thing in str(caught.value)
    assert remedy in str(caught.value)


def test_a_name_that_is_proposed_is_free() -> None:
    with pytest.raises(BadActor, match="copy_value_"):
        made(**fields(copy_value=int, copy=str))


def test_a_plan_whose_step_needs_arguments_is_refused() -> None:
    class Plan(Actor):
        @step
        async def load(self, url: str) -> None: ...

    class Flow(Plan):
        async def run(self) -> None: ...

    class Empty(Actor):
        pass

    check_plan(Report)
    check_plan(Flow)
    with pytest.raises(BadActor, match=r"step load of Plan.*async def run"):
        check_plan(Plan)
    with pytest.raises(BadActor, match="neither steps nor run, and no handlers"):
        check_plan(Empty)


def test_a_deleted_field_is_an_error() -> None:
    report = Report(topic="x")

    with pytest.raises(AttributeError, match=r"self.topic = "):
        del report.topic


# --- generic actors ---------------------------------------------------------------------


class Box(Actor, Generic[T]):
    content: T

    @step
    async def get(self) -> T:
        return self.content

    @step
    async def several(self) -> list[T]:
        return [self.content]

    @step
    async def me(self) -> Self:
        return self

    @step
    async def maybe(self) -> Self | None:
        return None

    @step
    async def named(self) -> dict[str, list[Self]]:
        return {"a": [self]}


class Rows(Box[list[T]], Generic[T]):
    pass


class IntBox(Box[int]):
    pass


class TextRows(Rows[str]):
    pass


@pytest.mark.parametrize(
    ("actor", "name", "value"),
    [
        (IntBox, "get", 5),
        (IntBox, "several", [5]),
        (IntBox, "me", IntBox(content=1)),
        (IntBox, "maybe", IntBox(content=1)),
        (IntBox, "named", {"a": [IntBox(content=1)]}),
        (TextRows, "get", ["a"]),
        (TextRows, "several", [["a"]]),
    ],
)
def test_a_step_of_a_generic_actor_returns_what_the_concrete_class_says(
    actor: type[Actor], name: str, value: Any
) -> None:
    definition = steps_of(actor)[name].of(actor)

    assert definition.output.decode(definition.output.encode(value, "x")) == value
    with pytest.raises(ValidationError):
        definition.output.decode(b'{"other":"x"}')
    assert definition.of(actor) is definition


def test_a_generic_actor_is_started_from_a_concrete_subclass() -> None:
    with pytest.raises(BadActor, match="generic"):
        Schema.of(Box[int])
    with pytest.raises(BadActor, match="generic"):
        Schema.of(Box)

    assert Schema.of(IntBox).names == ("content",)


def test_all_actors_are_the_classes_that_can_be_started_and_still_exist() -> None:
    class Passing(Actor):
        pass

    names = {actor.__name__ for actor in all_actors()}
    assert {"Report", "IntBox", "TextRows", "Passing"} <= names
    assert not {"Box", "Box[int]", "Rows", "Actor"} & names

    del Passing
    gc.collect()
    assert "Passing" not in {actor.__name__ for actor in all_actors()}


def test_classes_of_one_name_do_not_disturb_each_other() -> None:
    def make(default: int) -> type[Actor]:
        class Same(Actor):
            value: int = default

            @step
            async def get(self) -> int:
                return self.value

        return Same

    one, other = make(1), make(2)

    assert actor_name(one) == actor_name(other) == "Same"
    assert Schema.of(one).frame({}).cells["value"].data == b"1"
    assert Schema.of(other).frame({}).cells["value"].data == b"2"


def test_what_pydantic_offers_a_class_works_on_an_actor() -> None:
    class Inner(BaseModel):
        n: int

    class Full(Actor):
        inner: Inner
        _calls: int = PrivateAttr(default=0)

        @field_validator("inner")
        @classmethod
        def positive(cls, inner: Inner) -> Inner:
            if inner.n < 0:
                raise ValueError("negative")
            return inner

        @property
        def double(self) -> int:
            return self.inner.n * 2

        @cached_property
        def costly(self) -> int:
            self._calls += 1
            return self.inner.n * 3

    full = Full(inner=Inner(n=2))

    assert (full.double, full.costly, full.costly, full._calls) == (4, 6, 6, 1)
    with pytest.raises(ValidationError):
        Full(inner=Inner(n=-1))
