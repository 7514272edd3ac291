"""The view of a step and the one above it: what is seen, taken over, placed by a replay."""

import pytest

from everstep.actors.actor import Actor
from everstep.actors.errors import ConflictingChange, StateUnreadable
from everstep.actors.schema import Frame
from everstep.actors.state import (
    Changes,
    adopt,
    changed_items,
    close_view,
    collect,
    frame_of,
    place,
    rebase,
    total,
)
from tests.actors.views_kit import FULL, Point, below, changes_of, opened


def finish(view: Actor, base: Frame, above: Actor, name: str = "load") -> Changes:
    changes = collect(view, owner=name)
    rebase(above, collect(above, owner="run"))
    adopt(above, base, changes, name)
    close_view(view, "task-1")
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
    close_view(view, "task-1")

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
    close_view(outer, "task-1")

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
