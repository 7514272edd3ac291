"""Rows of schedules: a write holds whole or not at all, and the next one is found by an index."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from everstep.storage import Commit, ScheduleChange, SqliteStore, Store, Superseded
from everstep.testing import ManualClock
from tests.storage.kit import Life, hold, settle
from tests.supervisor.test_firings import schedule


def starting(store: Store, task_id: str, change: ScheduleChange) -> Commit:
    return Life(store, task_id).create()._replace(schedule=change)


async def test_a_schedule_comes_back_as_it_was_written(store: Store) -> None:
    row = schedule(60.0, name="a", appends=b"{}", lane="ann", waiting="[1.0]", state=b'{"x":1}')
    await hold(store, ScheduleChange("a", None, row))

    assert await store.schedule("a") == row
    assert await store.schedules() == [row]
    assert await store.schedule("b") is None


async def test_a_write_that_comes_from_another_revision_is_refused(store: Store) -> None:
    row = schedule(60.0, name="a", revision=5)
    await hold(store, ScheduleChange("a", None, row))

    for change in (
        ScheduleChange("a", None, row._replace(revision=6)),
        ScheduleChange("a", 4, row._replace(revision=6)),
        ScheduleChange("a", 4, None),
        ScheduleChange("b", 5, row._replace(name="b")),
    ):
        (refusal,) = await settle(store, change)
        assert isinstance(refusal, Superseded)
    assert await store.schedules() == [row]
    await hold(store, ScheduleChange("a", 5, None))
    assert await store.schedules() == []


async def test_no_revision_in_the_store_comes_again_after_a_restart(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "tasks.db", clock=ManualClock())
    await store.open()
    await hold(store, Life(store, "one").create())
    row = schedule(60.0, name="a", revision=store.new_key())
    await hold(store, ScheduleChange("a", None, row))
    await store.close()

    store = SqliteStore(tmp_path / "tasks.db", clock=ManualClock())
    await store.open()
    assert store.new_key() == row.revision + 1
    await store.close()


async def test_of_any_number_of_tasks_those_that_have_not_ended_are_found(store: Store) -> None:
    life = Life(store, "one")
    await hold(store, life.create())

    assert await store.unended([life.key, *range(300_000)]) == {life.key: "one"}
    assert await store.unended([life.key + 1]) == {}


async def test_a_task_and_the_firing_that_starts_it_are_written_together(store: Store) -> None:
    row = schedule(60.0, name="a", revision=1)
    await hold(store, ScheduleChange("a", None, row))
    after = row._replace(revision=2, fired=1)

    refusals = await settle(
        store,
        starting(store, "one", ScheduleChange("a", 9, after)),
        starting(store, "two", ScheduleChange("a", 1, after)),
        starting(store, "two", ScheduleChange("a", 2, after._replace(revision=3))),
    )

    assert [type(refusal) for refusal in refusals] == [Superseded, type(None), Superseded]
    assert await store.task("one") is None
    assert await store.task("two") is not None
    assert await store.schedule("a") == after


async def test_those_that_are_due_come_in_the_order_of_their_instants(store: Store) -> None:
    rows = [
        schedule(30.0, name="c"),
        schedule(10.0, name="b"),
        schedule(50.0, name="d"),
        schedule(5.0, name="paused", paused=1, waiting="[1.0]"),
        schedule(70.0, name="waits", waiting="[1.0]"),
        schedule(None, name="over"),
    ]
    await hold(store, *(ScheduleChange(row.name, None, row) for row in rows))

    assert await store.due_schedules(now=30.0) == ["b", "c", "waits"]
    assert await store.next_schedule(after=30.0) == 50.0
    assert await store.next_schedule(after=70.0) is None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM schedule WHERE paused = 0 AND next_at <= 5 ORDER BY next_at",
        "SELECT next_at FROM schedule WHERE paused = 0 AND next_at > 5 ORDER BY next_at LIMIT 1",
        "SELECT name FROM schedule WHERE paused = 0 AND waiting IS NOT NULL",
    ],
)
async def test_a_look_for_the_next_one_goes_by_an_index(
    on_file: SqliteStore, file: Path, query: str
) -> None:
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    plan = str(connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall())
    connection.close()

    assert "schedule_" in plan and "TEMP B-TREE" not in plan, plan
