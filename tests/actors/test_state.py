"""Views of the state: what an attempt sees, what it changes, and what is taken over."""

import copy
import pickle
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationInfo,
    computed_field,
    field_serializer,
    field_validator,
    model_serializer,
)
from pydantic_core import PydanticSerializationError

from everstep.actors.actor import Actor, all_actors
from everstep.actors.definition import StepDefinition
from everstep.actors.errors import (
    BadActor,
    BadCall,
    ConflictingChange,
    NoRuntime,
    NotSerializable,
    NotValid,
    PayloadTooLarge,
    StateUnreadable,
)
from everstep.actors.log import Log
from everstep.actors.schema import Frame, Schema, join, join_items, split, split_items
from everstep.actors.state import (
    Changes,
    adopt,
    changed_items,
    close_view,
    collect,
    encoded_state,
    frame_of,
    frame_size,
    open_view,
    place,
    rebase,
    total,
)
from everstep.actors.step import step
from everstep.actors.upcast import upcast
from everstep.actors.values import Limits
from everstep.storage.errors import StaleAttempt


class Point(BaseModel):
    x: int
    tags: list[str] = []


class FakeCtx:
    task_id = "task-1"


class FakeAnchor:
    ctx: Any = FakeCtx()

    def call(self, view: Actor, definition: StepDefinition, args: Any, kwargs: Any) -> Any:
        raise AssertionError("no step is called here")


class Report(Actor):
    topic: str = "t"
    count: int = 0
    score: float = 0.0
    items: list[int] = []
    tree: dict[str, list[int]] = {}
    point: Point = Point(x=1)
    tags: set[str] = set()
    when: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    maybe: Point | None = None
    notes: Log[str] = Log()
    points: Log[Point] = Log()

    @property
    def size(self) -> int:
        return len(self.items)

    @step
    async def load(self) -> None: ...


def opened(actor: Actor | None = None, family: Actor | None = None) -> Any:
    """A view on the state with which `actor` would start."""
    actor = actor or Report()
    schema = Schema.of(type(actor))
    fields, logs = schema.dump(actor)
    view = open_view(schema, schema.frame(fields), FakeAnchor(), family=family)
    place(view, {}, logs, -1, "start")
    return view


def below(above: Actor, frame: Frame | None = None) -> Any:
    """The view of a step that is called now."""
    frame = frame or frame_of(above)
    return open_view(Schema.of(type(above)), frame, FakeAnchor(), family=above)


def changes_of(view: Actor) -> dict[str, bytes]:
    return collect(view, owner="here").parts()[0]


# --- a view is the actor ----------------------------------------------------------------


FULL = Report(
    topic="x",
    items=[1, 2],
    tree={"a": [1]},
    point=Point(x=5, tags=["p"]),
    tags={"a"},
    maybe=Point(x=2),
    notes=Log(["n"]),
    points=Log([Point(x=7)]),
)


def test_a_view_shows_the_state() -> None:
    view = opened(FULL)

    assert isinstance(view, Report)
    assert (view.topic, view.items, view.point, view.tags) == ("x", [1, 2], FULL.point, {"a"})
    assert (view.notes[-1], view.points[0]) == ("n", Point(x=7))
    assert view.size == 2


SHOWN: list[Callable[[Any], Any]] = [
    lambda actor: actor.model_dump(),
    lambda actor: actor.model_dump_json(),
    lambda actor: actor.model_dump(exclude_unset=True),
    lambda actor: actor.model_dump(include={"items", "points"}),
    lambda actor: TypeAdapter(Report).dump_python(actor),
    lambda actor: TypeAdapter(list[Report]).dump_json([actor]),
    dict,
    repr,
    str,
    lambda actor: copy.copy(actor).items,
    lambda actor: copy.deepcopy(actor).__dict__,
    lambda actor: actor.model_copy(update={"count": 3}).__dict__,
    lambda actor: actor == FULL and FULL.__eq__(actor),
]


@pytest.mark.parametrize("show", SHOWN)
def test_what_reads_a_whole_model_reads_a_whole_view(show: Any) -> None:
    assert show(opened(FULL)) == show(FULL.model_validate_json(FULL.model_dump_json()))


def test_a_copy_of_a_view_is_an_actor_of_its_own() -> None:
    view = opened(FULL)

    for copied in (copy.copy(view), copy.deepcopy(view), view.model_copy()):
        copied.notes.append("mine")
        copied.topic = "mine"
        with pytest.raises(NoRuntime):
            _ = copied.ctx
    assert not changes_of(view)
    assert list(view.notes) == ["n"]


def test_a_view_cannot_be_pickled_and_says_what_can() -> None:
    with pytest.raises(TypeError, match="model_copy"):
        pickle.dumps(opened(FULL))

    assert pickle.loads(pickle.dumps(opened(FULL).model_copy())) == FULL


def test_what_only_shows_the_state_can_be_pickled_and_has_no_ctx() -> None:
    schema = Schema.of(Report)
    shown = open_view(schema, schema.frame(schema.dump(FULL)[0]), None, family=None)

    with pytest.raises(NoRuntime):
        _ = shown.ctx
    assert pickle.loads(pickle.dumps(shown)).items == [1, 2]


def test_the_anchor_gives_the_ctx() -> None:
    assert opened().ctx is FakeAnchor.ctx


def test_an_attribute_that_does_not_exist_is_named() -> None:
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = opened().nothing_here
    with pytest.raises(ValueError, match="nothing_here"):
        opened().nothing_here = 1


# --- changes ----------------------------------------------------------------------------


def test_a_view_that_was_only_read_has_changed_nothing() -> None:
    view = opened(FULL)

    view.model_dump()
    view.topic = view.topic
    view.items = view.items

    assert not collect(view, owner="here")


def test_assigned_and_mutated_fields_are_changes() -> None:
    view = opened(FULL)

    view.count += 1
    view.items.append(3)
    view.tree["a"].append(2)
    view.point.tags.append("q")
    view.maybe = None

    assert changes_of(view) == {
        "count": b"1",
        "items": b"[1,2,3]",
        "tree": b'{"a":[1,2]}',
        "point": b'{"x":5,"tags":["p","q"]}',
        "maybe": b"null",
    }


def test_a_set_that_is_written_in_another_order_is_not_changed() -> None:
    view = open_view(
        Schema.of(Report),
        Schema.of(Report).frame({"tags": b'["b","a","d","c","f","e"]'}),
        FakeAnchor(),
        family=None,
    )

    assert isinstance(view, Report)
    assert view.tags == {"a", "b", "c", "d", "e", "f"}
    assert not changes_of(view)
    view.tags.discard("a")
    assert list(changes_of(view)) == ["tags"]


def test_only_what_was_appended_to_a_log_is_a_change() -> None:
    view = opened(FULL)

    view.notes.append("m")
    view.points.extend([Point(x=8), Point(x=9)])
    changes = collect(view, owner="here")

    assert changes.encoded() == (
        None,
        b'{"notes":["m"],"points":[{"x":8,"tags":[]},{"x":9,"tags":[]}]}',
        62,
    )


def test_a_changed_field_is_validated_and_has_the_declared_type() -> None:
    view = opened()

    view.score = 1
    view.items = (1, 2)
    view.point = {"x": 3}

    assert changes_of(view) == {
        "score": b"1.0",
        "items": b"[1,2]",
        "point": b'{"x":3,"tags":[]}',
    }
    view.count = "many"
    with pytest.raises(NotValid):
        collect(view, owner="here")


def test_a_changed_field_that_would_not_come_back_is_refused_by_name() -> None:
    class Wider(Point):
        z: int = 1

    view = opened()
    view.point = Wider(x=1)

    with pytest.raises(NotSerializable, match="the field 'point' of Report"):
        collect(view, owner="here")


def test_a_replaced_log_is_refused() -> None:
    view = opened()
    view.notes = Log(["other"])

    with pytest.raises(BadActor, match=r"self.notes.append"):
        collect(view, owner="here")


def test_sizes_are_limited() -> None:
    limits = Limits(value=50, state=400)
    view = opened()

    view.topic = "a" * 60
    with pytest.raises(PayloadTooLarge, match="the field 'topic'"):
        collect(view, owner="here", limits=limits)
    view.topic = "t"
    view.notes.append("a" * 60)
    with pytest.raises(PayloadTooLarge, match="an item of the field 'notes'"):
        collect(view, owner="here", limits=limits)

    small = Limits(value=50, state=frame_size(frame_of(view)))
    other = opened()
    other.count = 10
    with pytest.raises(PayloadTooLarge, match="the state of Report"):
        collect(other, owner="here", limits=small)
    with pytest.raises(PayloadTooLarge, match="the state of Report"):
        Schema.of(Report).dump(Report(), Limits(state=10))


def test_the_size_of_a_frame_is_that_of_its_bytes() -> None:
    view = opened(FULL)
    view.items.append(5)
    rebase(view, collect(view, owner="here"))

    state = encoded_state(view)
    assert frame_size(frame_of(view)) == sum(map(len, state.values()))
    assert state == encoded_state(frame_of(view))
    assert set(state) == set(Report.model_fields) - {"notes", "points"}


def test_aliased_fields_are_two_values() -> None:
    view = opened()
    view.tree["a"] = view.items
    view.items.append(1)

    above = opened()
    base = frame_of(above)
    changes = collect(view, owner="here")
    adopt(above, base, changes, "load")
    above.items.append(2)

    assert above.tree == {"a": [1]}


# --- a step and what is above it --------------------------------------------------------


def finish(view: Actor, base: Frame, above: Actor, name: str = "load") -> Changes:
    changes = collect(view, owner=name)
    rebase(above, collect(above, owner="run"))
    adopt(above, base, changes, name)
    close_view(view)
    return changes


def test_a_step_sees_what_run_changed_before_and_nothing_of_what_comes_after() -> None:
    run = opened(FULL)
    run.items.append(3)
    rebase(run, collect(run, owner="run"))

    view = below(run)
    run.items.append(4)
    run.notes.append("later")

    assert view.items == [1, 2, 3]
    assert list(view.notes) == ["n"]


def test_what_a_finished_step_changed_is_seen_above_as_new_objects() -> None:
    run = opened(FULL)
    held, log = run.items, run.notes
    base = frame_of(run)
    view = below(run, base)

    view.items.append(3)
    view.notes.append("m")
    finish(view, base, run)

    assert run.items == [1, 2, 3]
    assert held == [1, 2]
    assert run.notes is log
    assert list(log) == ["n", "m"]
    assert not collect(run, owner="run")


def test_what_a_failed_step_changed_is_seen_by_nobody() -> None:
    run = opened(FULL)
    view = below(run)
    view.items.append(3)
    view.points[0].tags.append("bad")
    view.points.append(Point(x=1))
    view.point.x = 100
    close_view(view)

    again = below(run)

    assert again == FULL
    assert run == FULL


def test_run_keeps_its_objects_when_its_changes_are_collected() -> None:
    run = opened(FULL)
    held = run.items
    held.append(3)

    rebase(run, collect(run, owner="run"))
    held.append(4)

    assert run.items is held
    assert changes_of(run) == {"items": b"[1,2,3,4]"}


def test_two_steps_that_change_one_field_conflict_and_nothing_of_the_later_is_taken() -> None:
    run = opened(FULL)
    first_base, second_base = frame_of(run), frame_of(run)
    first, second = below(run, first_base), below(run, second_base)
    first.items.append(3)
    second.items.append(4)
    second.count = 9
    second.notes.append("x")
    finish(first, first_base, run, "first")

    with pytest.raises(ConflictingChange, match=r"second.*'items'.*first") as caught:
        finish(second, second_base, run, "second")

    assert (caught.value.step, caught.value.field, caught.value.other) == (
        "second",
        "items",
        "first",
    )
    assert (run.items, run.count, list(run.notes)) == ([1, 2, 3], 0, ["n"])


def test_a_step_and_run_that_change_one_field_conflict() -> None:
    run = opened(FULL)
    base = frame_of(run)
    view = below(run, base)
    view.count = 5
    run.count = 6

    with pytest.raises(ConflictingChange, match="which run changed"):
        finish(view, base, run)
    assert run.count == 6


def test_steps_that_change_different_fields_or_only_logs_do_not_conflict() -> None:
    run = opened(FULL)
    first_base, second_base = frame_of(run), frame_of(run)
    first, second = below(run, first_base), below(run, second_base)
    first.count, second.topic = 1, "y"
    first.notes.append("1")
    second.notes.append("2")

    finish(second, second_base, run)
    finish(first, first_base, run)

    assert (run.count, run.topic, list(run.notes)) == (1, "y", ["n", "2", "1"])


def test_a_step_below_a_step_counts_as_part_of_it() -> None:
    run = opened(FULL)
    base = frame_of(run)
    outer = below(run, base)
    outer.notes.append("a")
    outer.count = 1
    rebase(outer, collect(outer, owner="outer"))
    inner_base = frame_of(outer)
    inner = below(outer, inner_base)
    inner.notes.append("b")
    inner.items.append(3)
    finish(inner, inner_base, outer, "inner")
    outer.notes.append("c")
    outer.items.append(4)

    changes = total(outer, base, owner="outer")

    assert changes.parts() == (
        {"count": b"1", "items": b"[1,2,3,4]"},
        {"notes": [b'"a"', b'"b"', b'"c"']},
    )
    assert list(run.notes) == ["n"]
    adopt(run, base, changes, "outer")
    assert (run.count, run.items, list(run.notes)) == (1, [1, 2, 3, 4], ["n", "a", "b", "c"])


def test_what_a_failed_outer_step_took_from_inner_ones_is_seen_by_nobody() -> None:
    run = opened(FULL)
    outer = below(run)
    inner_base = frame_of(outer)
    inner = below(outer, inner_base)
    inner.notes.append("b")
    finish(inner, inner_base, outer, "inner")
    close_view(outer)

    run.notes.append("mine")
    rebase(run, collect(run, owner="run"))

    assert list(run.notes) == ["n", "mine"]
    assert list(below(run).notes) == ["n", "mine"]


def test_items_that_a_view_changed_in_vain_are_found() -> None:
    run = opened(FULL)
    assert changed_items(run) == {}

    run.points[0].tags.append("late")
    run.points.append(Point(x=1))

    assert changed_items(run) == {"points": [0]}


def test_a_step_that_found_recorded_steps_below_it_counts_their_items_too() -> None:
    run = opened(FULL)
    place(run, {}, {"notes": [b'"late"']}, 9, "other")
    base = frame_of(run)
    outer = below(run, base)
    place(outer, {"count": b"5", "topic": b'"x"'}, {"notes": [b'"early"']}, 4, "inner")

    changes = total(outer, base, owner="outer")

    assert list(outer.notes) == ["n", "early", "late"]
    assert changes.parts() == ({"count": b"5"}, {"notes": [b'"early"']})
    assert repr(changes) == "<changes of ['count'], appends to ['notes']>"


def test_a_log_can_be_iterated_while_steps_are_called() -> None:
    run = opened(FULL)
    run.notes.extend(["a", "b"])
    seen: list[str] = []

    for note in run.notes:
        seen.append(note)
        if note == "b":
            rebase(run, collect(run, owner="run"))
            run.notes.extend(["c", "d", "e", "f"])

    assert seen == ["n", "a", "b", "c", "d", "e", "f"]


# --- replay -----------------------------------------------------------------------------


def test_recorded_values_replace_what_the_view_has() -> None:
    run = opened(FULL)
    held = run.items

    place(run, {"items": b"[9]", "count": b"4"}, {}, 1, "load")

    assert (run.items, run.count, held) == ([9], 4, [1, 2])
    assert not collect(run, owner="run")


def test_recorded_items_stand_in_the_order_of_their_numbers() -> None:
    run = opened(FULL)
    log = run.notes

    place(run, {}, {"notes": [b'"5"']}, 5, "e")
    place(run, {}, {"notes": [b'"3"', b'"3b"']}, 3, "c")
    run.notes.append("mine")
    rebase(run, collect(run, owner="run"))
    place(run, {}, {"notes": [b'"4"']}, 4, "d")
    place(run, {}, {"notes": [b'"6"']}, 6, "f")

    assert list(log) == ["n", "3", "3b", "4", "5", "mine", "6"]


def test_a_recorded_field_that_the_class_lacks_is_unreadable_and_nothing_is_placed() -> None:
    run = opened(FULL)

    with pytest.raises(StateUnreadable, match="'gone'"):
        place(run, {"count": b"4", "gone": b"1"}, {}, 1, "load")
    with pytest.raises(StateUnreadable, match="'gone'"):
        place(run, {"count": b"4"}, {"gone": [b"1"]}, 1, "load")

    assert run.count == 0


# --- closed views -----------------------------------------------------------------------


USES: list[Callable[[Any], Any]] = [
    lambda view: view.topic,
    lambda view: view.items,
    lambda view: view.size,
    lambda view: view.load(),
    lambda view: view.ctx,
    lambda view: view.model_dump(),
    lambda view: setattr(view, "count", 1),
    lambda view: view == FULL,
    FULL.__eq__,
    copy.copy,
    dict,
    pickle.dumps,
    TypeAdapter(Report).dump_json,
]


@pytest.mark.parametrize("use", USES)
def test_a_closed_view_refuses_every_use(use: Any) -> None:
    view = opened(FULL)
    view.model_dump()

    close_view(view)

    with pytest.raises((StaleAttempt, PydanticSerializationError), match="task-1"):
        use(view)


def test_a_closed_view_can_still_be_told_what_it_is() -> None:
    view = opened(FULL)
    close_view(view)

    assert isinstance(view, Report)
    assert "Report" in repr(view)
    assert Report in type(view).__mro__
    assert type(view) not in all_actors()


def test_what_was_taken_from_a_view_before_it_was_closed_refuses_too() -> None:
    view = opened(FULL)
    log, method = view.notes, view.load

    close_view(view)

    for use in (
        lambda: log.append("x"),
        lambda: log[0],
        lambda: len(log),
        lambda: list(log),
        method,
    ):
        with pytest.raises(StaleAttempt):
            use()


def test_a_view_is_closed_for_other_threads_too() -> None:
    view = opened(FULL)
    closed, errors = threading.Event(), list[Exception]()

    def work() -> None:
        closed.wait(5)
        try:
            view.count = 1
        except StaleAttempt as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    close_view(view)
    closed.set()
    thread.join(5)

    assert len(errors) == 1


# --- what belongs to one life -----------------------------------------------------------


class Living(Actor):
    start: int = 1
    touched: list[int] = []
    _client: dict[str, int] = PrivateAttr(default_factory=dict)
    _made: int = 0

    def model_post_init(self, context: Any, /) -> None:
        self._client["made"] = self.start
        self.touched.append(1)
        self.start += 100

    @cached_property
    def connection(self) -> list[int]:
        self._made += 1
        return [self.start]

    @computed_field  # type: ignore[prop-decorator]  # mypy does not know this pair
    @cached_property
    def shown(self) -> int:
        self._made += 1
        return self.start


def test_private_attributes_and_cached_properties_are_shared_by_the_views_of_a_life() -> None:
    first = opened(Living())
    second, third = below(first), below(first)

    second._client["x"] = 1
    second.connection.append(5)
    assert (first._client, third._client["x"]) == ({"made": 101, "x": 1}, 1)
    assert third.connection is first.connection is second.connection
    assert (first.shown, second.shown, third._made) == (101, 101, 2)
    close_view(second)
    third.connection = [7]
    assert first.connection == [7]
    del first.connection
    assert third.connection == [101]


def test_another_life_makes_them_anew() -> None:
    first = opened(Living())
    first._client["x"] = 1
    _ = first.connection

    other = opened(Living())

    assert other._client == {"made": 101}
    assert other._made == 0
    assert other.connection is not first.connection


def test_model_post_init_changes_fields_at_the_start_alone() -> None:
    started = Living()
    assert (started.start, started.touched) == (101, [1])

    view = opened(started)

    assert (view.start, view.touched) == (101, [1])
    assert not collect(view, owner="run")


# --- schema -----------------------------------------------------------------------------


def test_a_field_that_the_state_lacks_gets_its_default() -> None:
    class Own(Actor):
        a: int
        b: list[int] = Field(default_factory=lambda: [1])
        c: str = "c"

    frame = Schema.of(Own).frame({"a": b"1"})

    assert encoded_state(frame) == {"a": b"1", "b": b"[1]", "c": b'"c"'}
    with pytest.raises(StateUnreadable, match=r"'a'.*gives it no default"):
        Schema.of(Own).frame({})


def test_a_field_that_the_class_lacks_is_unreadable() -> None:
    with pytest.raises(StateUnreadable, match=r"'gone' of the actor 'Report'.*@upcast"):
        Schema.of(Report).frame({"gone": b"1"})


def test_a_value_that_is_none_of_the_field_is_unreadable_when_it_is_read() -> None:
    schema = Schema.of(Report)
    with pytest.raises(StateUnreadable, match="'count'"):
        schema.frame({"count": b'"many"'})

    view: Any = open_view(schema, schema.frame({"items": b'["a"]'}), FakeAnchor(), family=None)
    with pytest.raises(StateUnreadable, match="'items'"):
        _ = view.items
    place(view, {}, {"points": [b'{"x":"many"}']}, 1, "load")
    with pytest.raises(StateUnreadable, match="'points'"):
        _ = view.points[0]


def test_a_start_is_validated_and_checked() -> None:
    actor = Report()
    actor.score = 1
    assert Schema.of(Report).dump(actor)[0]["score"] == b"1.0"
    actor.count = "x"  # type: ignore[assignment]  # that is the point
    with pytest.raises(NotValid):
        Schema.of(Report).dump(actor)


def test_what_the_caller_gave_is_compared_by_value() -> None:
    def given(**fields: Any) -> str:
        return Schema.of(Report).given(Report(**fields))

    assert given(topic="x", tags={"a", "b"}) == given(tags={"b", "a"}, topic="x")
    assert given(score=1) == given(score=1.0)
    assert given(topic="x") != given(topic="y")
    assert given(topic="t") != given()
    assert given(notes=Log(["a"])) != given(notes=Log(["b"]))
    assert given(topic="a" * 100_000) != given(topic="b" * 100_000)


class Special(Actor):
    model_config = ConfigDict(populate_by_name=True)

    upper: str = Field(default="", alias="Upper")
    hidden: int = Field(default=0, exclude=True)
    secret: list[int] = []
    checked: int = Field(default=0, ge=0)
    informed: list[int] = []

    @field_serializer("secret")
    def double(self, secret: list[int]) -> list[int]:
        return [2 * number for number in secret]

    @field_validator("secret", mode="before")
    @classmethod
    def halve(cls, value: Any) -> Any:
        return [number // 2 for number in value]

    @field_validator("informed")
    @classmethod
    def see(cls, value: list[int], info: ValidationInfo) -> list[int]:
        if info.data.get("checked") == 99 or 99 in value:
            raise ValueError("99")
        return value


def test_aliases_and_exclusion_do_not_touch_the_state_and_field_functions_hold() -> None:
    view = opened(Special.model_validate({"Upper": "x", "hidden": 5, "informed": [1]}))

    view.upper += "y"
    view.hidden += 1
    view.informed.append(2)
    assert changes_of(view) == {"upper": b'"xy"', "hidden": b"6", "informed": b"[1,2]"}
    view.informed.append(99)
    with pytest.raises(NotValid, match="99"):
        collect(view, owner="here")
    view.informed.pop()
    view.checked = -1
    with pytest.raises(NotValid):
        collect(view, owner="here")


def test_a_field_serializer_that_a_validator_undoes_is_used() -> None:
    class Undone(Actor):
        path: list[str] = []

        @field_serializer("path")
        def joined(self, path: list[str]) -> str:
            return "/".join(path)

        @field_validator("path", mode="before")
        @classmethod
        def parted(cls, value: Any) -> Any:
            return [part for part in value.split("/") if part] if isinstance(value, str) else value

    view = opened(Undone())
    view.path = ["a", "b"]

    assert changes_of(view) == {"path": b'"a/b"'}


def test_a_model_serializer_sees_the_whole_state() -> None:
    class Own(Actor):
        items: list[int] = [1]

        @model_serializer(mode="wrap")
        def wrapped(self, handler: Any) -> dict[str, Any]:
            return {**handler(self), "more": True}

    assert opened(Own()).model_dump() == {"items": [1], "more": True}


class Node(Actor):
    value: int = 0
    children: list["Node"] = []


def test_an_actor_may_name_itself_in_a_field() -> None:
    view = opened(Node(children=[Node(value=1)]))

    assert view.children[0].value == 1
    view.children[0].value = 2
    assert changes_of(view) == {"children": b'[{"value":2,"children":[]}]'}


def test_a_field_whose_type_is_nowhere_is_refused() -> None:
    class Lost(Actor):
        field: "Nowhere"  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(BadActor, match="Nowhere"):
        Schema.of(Lost)


# --- versions ---------------------------------------------------------------------------


class Old(Actor, version=3):
    subject: str
    words: int = 0
    notes: Log[str] = Log()

    @upcast(1)
    @staticmethod
    def rename(state: dict[str, Any]) -> dict[str, Any]:
        state["subject"] = state.pop("topic")
        return state

    @staticmethod
    @upcast(2)
    def count(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "words": len(state["subject"].split())}


def test_state_of_an_older_version_is_lifted_step_by_step() -> None:
    schema = Schema.of(Old)

    assert encoded_state(schema.frame({"topic": b'"a b"'}, version=1)) == {
        "subject": b'"a b"',
        "words": b"2",
    }
    assert schema.lift({"subject": b'"\xc3\xbc"'}, 2) == {"subject": '"ü"'.encode(), "words": b"1"}
    assert schema.lift({"subject": b'"a"'}, 3) == {"subject": b'"a"'}


def test_state_that_cannot_be_lifted_is_unreadable() -> None:
    class Gap(Actor, version=3):
        @upcast(2)
        @staticmethod
        def lift(state: dict[str, Any]) -> dict[str, Any]:
            return state

    with pytest.raises(StateUnreadable, match=r"no @upcast\(1\)"):
        Schema.of(Gap).frame({}, version=1)
    with pytest.raises(StateUnreadable, match="has version 4"):
        Schema.of(Gap).frame({}, version=4)


def test_an_upcast_that_returns_no_state_makes_it_unreadable() -> None:
    class Wrong(Actor, version=3):
        value: int = 0

        @upcast(1)
        @staticmethod
        def nothing(state: dict[str, Any]) -> Any:
            return None

        @upcast(2)
        @staticmethod
        def no_json(state: dict[str, Any]) -> dict[str, Any]:
            return {"value": {1}}

    with pytest.raises(StateUnreadable, match=r"@upcast\(1\) returned NoneType"):
        Schema.of(Wrong).frame({}, version=1)
    with pytest.raises(StateUnreadable, match=r"'value'.*made no JSON"):
        Schema.of(Wrong).frame({}, version=2)


@pytest.mark.parametrize("version", [0, True, "1", None])
def test_an_upcast_starts_from_a_version(version: Any) -> None:
    with pytest.raises(BadCall, match="from_version"):
        upcast(version)


def test_upcasts_that_cannot_be_right_are_refused() -> None:
    class Late(Actor, version=2):
        @upcast(2)
        @staticmethod
        def lift(state: dict[str, Any]) -> dict[str, Any]:
            return state

    class Twice(Actor, version=2):
        @upcast(1)
        @staticmethod
        def one(state: dict[str, Any]) -> dict[str, Any]:
            return state

        @upcast(1)
        @staticmethod
        def other(state: dict[str, Any]) -> dict[str, Any]:
            return state

    with pytest.raises(BadActor, match="version=3"):
        Schema.of(Late)
    with pytest.raises(BadActor, match="one and other"):
        Schema.of(Twice)


# --- several values in one text ---------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"a": b"1"},
        {"a": b'"x,}]\\"\\u00fc"', "ü": '["ü",{"b":[]}]'.encode(), "c": b"-1.50e+10", "d": b"null"},
    ],
)
def test_values_are_joined_and_split_byte_for_byte(parts: dict[str, bytes]) -> None:
    assert split(join(parts)) == parts
    assert split_items(join_items({name: [data, data] for name, data in parts.items()})) == {
        name: [data, data] for name, data in parts.items()
    }


def test_nothing_splits_into_nothing() -> None:
    assert split(None) == {}
    assert split_items(None) == {}
    assert split_items(b'{"a":[],"b":[1]}') == {"a": [], "b": [b"1"]}
