"""A view is the actor: what it shows, until it is closed, and what its life shares."""

import copy
import pickle
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest
from pydantic import PrivateAttr, TypeAdapter, computed_field
from pydantic_core import PydanticSerializationError

from everstep.actors.actor import Actor, all_actors, steps_of
from everstep.actors.errors import BadActor, NoRuntime
from everstep.actors.schema import Schema
from everstep.actors.state import close_view, collect, open_view
from everstep.storage.errors import StaleAttempt
from tests.actors.views_kit import FULL, FakeAnchor, Point, Report, below, changes_of, opened


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
    with pytest.raises(BadActor, match="nothing_here"):
        opened().nothing_here = 1


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

    close_view(view, "task-1")

    with pytest.raises((StaleAttempt, PydanticSerializationError), match="task-1"):
        use(view)


def test_a_closed_view_can_still_be_told_what_it_is() -> None:
    view = opened(FULL)
    close_view(view, "task-1")

    assert isinstance(view, Report)
    assert "Report" in repr(view)
    assert Report in type(view).__mro__
    assert type(view) not in all_actors()


def test_what_was_taken_from_a_view_before_it_was_closed_refuses_too() -> None:
    view = opened(FULL)
    log, method = view.notes, view.load

    close_view(view, "task-1")

    for use in (
        lambda: log.append("x"),
        lambda: log[0],
        lambda: len(log),
        lambda: list(log),
        method,
    ):
        with pytest.raises(StaleAttempt):
            use()


def test_a_call_of_a_step_that_a_thread_was_in_when_the_view_was_closed_is_refused() -> None:
    view = opened(FULL)
    tie = view.__everstep__

    close_view(view, "task-1")

    anchor = tie.anchor
    assert anchor is not None
    with pytest.raises(StaleAttempt, match="task-1"):
        _ = anchor.ctx
    with pytest.raises(StaleAttempt, match="task-1"):
        _ = anchor.call(steps_of(Report)["load"], (), {})


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
    close_view(view, "task-1")
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
    close_view(second, "task-1")
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
