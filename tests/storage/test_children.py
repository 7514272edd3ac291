"""Children in the store: started once, and brought after their parent page by page."""

from __future__ import annotations

import sqlite3

import pytest

from everstep.storage import (
    ChildRow,
    EventRow,
    NewTask,
    Progress,
    Refused,
    Status,
    Store,
    Superseded,
)
from everstep.storage.kin import BEGINNING, PARENT_PAUSED, Asks, Straggler, asks_of
from everstep.storage.sqlite import children
from everstep.storage.sqlite.schema import migrate
from tests.storage.kit import QUEUED, Life, hold, lives, names, settle, snapshot_row, submit


def child_of(life: Life, name: str, *, on_parent: str = "cancel", **progress: object) -> ChildRow:
    """A child of a task, as a commit starts it."""
    key = life.store.new_key()
    new = NewTask(key, name, "Child", "tasks", 0, None, "g", b"seed", 1.0, life.key, on_parent)
    begun: Progress = QUEUED._replace(event_seq=1)._replace(**progress)  # type: ignore[arg-type]  # any column
    return ChildRow(new, begun, snapshot_row(key), EventRow(key, 1, 1.0, "task_started", None, b""))


async def all_stragglers(store: Store) -> list[Straggler]:
    pages = [await store.stragglers(asks, limit=100) for asks in Asks]
    return [straggler for page in pages for _, straggler in page]


async def stragglers(store: Store) -> set[str]:
    return {straggler.id for straggler in await all_stragglers(store)}


async def test_a_child_whose_id_exists_is_refused_with_all_of_its_commit(store: Store) -> None:
    one, two = await lives(store, 2)
    await hold(store, one.next(starts=(child_of(one, "child"),)))

    starts = (child_of(one, "fresh"), child_of(one, "child"))
    late = one.next({"event_seq": 1}, starts=starts)
    notes = submit(store, late, two.checkpoint())
    refusal, held = [await note.settled for note in notes]

    assert (names([refusal]), held) == (["Superseded"], None)
    assert isinstance(refusal, Refused)
    assert refusal.detail == "its child 'child' exists"
    assert await store.task("fresh") is None
    assert [row.id for row in await store.tasks(parent=one.key)] == ["child"]
    row = await store.task(one.id)
    assert row is not None
    assert row.progress.event_seq == 0


async def test_two_commits_of_one_batch_do_not_start_the_same_child(store: Store) -> None:
    one, two = await lives(store, 2)

    refusals = await settle(
        store,
        one.next(starts=(child_of(one, "child"),)),
        two.next(starts=(child_of(two, "child"),)),
    )

    assert names([refusal for refusal in refusals if refusal is not None]) == ["Superseded"]
    assert [row.parent for row in await store.tasks() if row.id == "child"] == [one.key]


WAYS = ("cancel", "follow", "leave")


@pytest.mark.parametrize(
    ("parent", "lagging"),
    [
        (Status.FAILED, {"cancel", "follow", "cancel paused", "follow paused"}),
        (Status.CANCELLED, {"cancel", "follow", "cancel paused", "follow paused"}),
        (Status.PAUSED, {"follow"}),
        (Status.WAITING, set[str]()),
        (Status.SUCCEEDED, set[str]()),
    ],
)
async def test_what_a_task_becomes_shows_which_children_are_to_follow(
    store: Store, parent: Status, lagging: set[str]
) -> None:
    (life,) = await lives(store, 1)
    open_ones = [child_of(life, way, on_parent=way) for way in WAYS]
    paused = [
        child_of(life, f"{way} paused", on_parent=way, status=Status.PAUSED, reason=PARENT_PAUSED)
        for way in WAYS
    ]
    ended = [child_of(life, f"{way} ended", on_parent=way, status=Status.SUCCEEDED) for way in WAYS]
    await hold(store, life.next(starts=(*open_ones, *paused, *ended)))

    await hold(store, life.next({"status": parent}))

    assert await stragglers(store) == lagging


async def test_the_children_that_a_pause_has_taken_along_lag_when_their_parent_goes_on(
    store: Store,
) -> None:
    (life,) = await lives(store, 1)
    reasons = {"along": PARENT_PAUSED, "alone": "effect_unknown"}
    paused = [
        child_of(life, name, on_parent="follow", status=Status.PAUSED, reason=reason)
        for name, reason in reasons.items()
    ]
    await hold(store, life.next(starts=tuple(paused)), life.next({"status": Status.PAUSED}))

    await hold(store, life.next({"status": Status.QUEUED}))

    assert await all_stragglers(store) == [Straggler("along", life.id, Status.QUEUED)]


@pytest.mark.parametrize("parent", [Status.QUEUED, Status.SUCCEEDED])
async def test_a_child_that_is_paused_when_its_parent_goes_on_again_lags(
    store: Store, parent: Status
) -> None:
    (life,) = await lives(store, 1)
    row = child_of(life, "late", on_parent="follow")
    await hold(store, life.next(starts=(row,)), life.next({"status": Status.PAUSED}))
    await hold(store, life.next({"status": parent}))
    assert await stragglers(store) == set()

    child = Life(store, id=row.new.id, key=row.new.key, progress=row.progress)
    paused = {"status": Status.PAUSED, "reason": PARENT_PAUSED}
    await hold(store, child.next(paused, parent=life.key))

    assert await all_stragglers(store) == [Straggler("late", life.id, parent)]


async def test_a_child_goes_on_with_its_parent_only_while_that_does(store: Store) -> None:
    (life,) = await lives(store, 1)
    row = child_of(life, "kid", on_parent="follow", status=Status.PAUSED, reason=PARENT_PAUSED)
    child = Life(store, id=row.new.id, key=row.new.key, progress=row.progress)
    await hold(store, life.next({"status": Status.PAUSED}, starts=(row,)))

    going_on = child.next({"status": Status.QUEUED}, parent=life.key, follows=Asks.GO_ON)
    [refusal] = await settle(store, going_on)

    assert isinstance(refusal, Superseded)
    assert refusal.detail == "its parent does not ask it to go on any more"
    assert await stragglers(store) == set()


async def test_a_child_that_goes_on_while_its_parent_is_paused_again_lags(store: Store) -> None:
    (life,) = await lives(store, 1)
    row = child_of(life, "kid", on_parent="follow", status=Status.PAUSED, reason=PARENT_PAUSED)
    child = Life(store, id=row.new.id, key=row.new.key, progress=row.progress)
    await hold(store, life.next(starts=(row,)))

    await hold(
        store,
        child.next({"status": Status.QUEUED}, parent=life.key, follows=Asks.GO_ON),
        life.next({"status": Status.PAUSED}),
    )

    assert await stragglers(store) == {"kid"}


async def test_the_last_child_to_follow_takes_the_mark_of_its_parent_away(store: Store) -> None:
    (life,) = await lives(store, 1)
    rows = [child_of(life, name) for name in ("one", "two")]
    await hold(store, life.next(starts=tuple(rows)), life.next({"status": Status.FAILED}))
    seen = [await stragglers(store)]

    for row in rows:
        child = Life(store, id=row.new.id, key=row.new.key, progress=row.progress)
        await hold(store, child.next({"status": Status.CANCELLED}, parent=life.key))
        seen.append(await stragglers(store))

    assert seen == [{"one", "two"}, {"two"}, set()]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize("parent", [Status.CANCELLED, Status.PAUSED, Status.QUEUED])
async def test_those_that_lag_are_told_once_each_page_by_page(
    store: Store, parent: Status, limit: int
) -> None:
    made = await lives(store, 3)
    states = [(status, None) for status in Status] + [(Status.PAUSED, PARENT_PAUSED)] * 2
    for life in made:
        rows = [
            child_of(life, f"{life.id} {number} {way}", on_parent=way, status=status, reason=reason)
            for way in WAYS
            for number, (status, reason) in enumerate(states)
        ]
        await hold(store, life.next({"status": Status.PAUSED}, starts=tuple(rows)))
        await hold(store, life.next({"status": parent}))

    asks = asks_of(parent)
    told: list[str] = []
    after = BEGINNING
    while page := await store.stragglers(asks, after=after, limit=limit):
        assert len(page) <= limit
        told += [straggler.id for _, straggler in page]
        after = page[-1][0]

    a_family = {Asks.END: 2 * 6, Asks.PAUSE: 3, Asks.GO_ON: 2}
    assert len(told) == len(set(told)) == 3 * a_family[asks]
    assert set(told) == await stragglers(store)


def test_children_are_found_by_an_index() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    for asks in Asks:
        children.stragglers(connection, asks, BEGINNING, 5)
    connection.execute(children.UNMARK, (1,))
    for mark in children.MARK.values():
        connection.execute(mark, (1,))
    connection.set_trace_callback(None)

    for statement in asked:
        if statement in ("BEGIN", "COMMIT"):
            continue
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        of_children = [line for line in plan if " child " in line]
        assert of_children, plan
        assert all("task_kin (parent=? AND on_parent=?" in line for line in of_children), plan
        assert not [line for line in plan if line.startswith("SCAN task")], plan
        assert not [line for line in plan if "TEMP B-TREE" in line], plan
    connection.close()
