"""A write that has lost its right is refused by name, and nobody else's is."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from everstep.storage import (
    EffectState,
    Outcome,
    Receipt,
    Refused,
    SqliteStore,
    Status,
    StepReset,
    Store,
)
from tests.storage.kit import (
    Life,
    begun_row,
    effect_row,
    event_row,
    hold,
    lives,
    names,
    run_row,
    settle,
    snapshot_row,
    step_row,
)


async def test_a_write_from_other_numbers_is_superseded_and_leaves_nothing(store: Store) -> None:
    (life,) = await lives(store, 1)
    stale = life.checkpoint("0/late")
    life.progress = life.progress._replace(seq=0, event_seq=0)
    await hold(store, life.checkpoint("0/first"))

    (refusal,) = await settle(store, stale)

    assert names([refusal]) == ["Superseded"]
    assert [row.identity for _, row in await store.steps(life.key)] == ["0/first"]
    assert len(await store.events(life.key)) == 1


@pytest.mark.parametrize(
    ("there", "here", "name"),
    [
        ({"incarnation": 2}, {"incarnation": 1}, "StaleIncarnation"),
        ({"generation": 2}, {"generation": 1}, "Superseded"),
        ({"status": Status.SUCCEEDED, "epoch": None}, {"status": Status.RUNNING}, "Superseded"),
        ({"status": Status.PAUSED}, {"status": Status.RUNNING}, "Superseded"),
        ({"seq": 5}, {"seq": 4}, "Superseded"),
        ({"event_seq": 5}, {"event_seq": 4}, "Superseded"),
        ({"epoch": None}, {"epoch": 1}, "Superseded"),
        ({"epoch": 7}, {"epoch": 1}, "LostLease"),
    ],
)
async def test_each_way_of_being_late_has_its_name(
    store: Store, there: dict[str, Any], here: dict[str, Any], name: str
) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.next(there))
    late: dict[str, Any] = {"epoch": 1, "status": Status.RUNNING}
    late |= here
    life.progress = life.progress._replace(**late)

    assert names(await settle(store, life.next({"updated_at": 9.0}))) == [name]


async def test_a_task_that_does_not_exist_takes_no_write(store: Store) -> None:
    life = Life(store, key=77)

    assert names(await settle(store, life.next({"updated_at": 9.0}))) == ["Superseded"]


async def test_a_second_task_of_one_id_is_superseded(store: Store) -> None:
    await hold(store, Life(store, id="same").create())

    (refusal,) = await settle(store, Life(store, id="same").create())

    assert names([refusal]) == ["Superseded"]
    assert isinstance(refusal, Refused)
    assert refusal.detail == "the id exists"


async def test_a_step_with_an_outcome_takes_no_other(store: Store) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.checkpoint(output=b'"first"'))

    assert names(await settle(store, life.checkpoint(output=b'"second"'))) == ["Superseded"]

    ((_, row),) = await store.steps(life.key)
    assert row.output == b'"first"'


async def test_an_attempt_older_than_the_newest_is_stale(store: Store) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.next(steps=(begun_row(life.key, serial=3),)))

    assert names(await settle(store, life.checkpoint(serial=2))) == ["StaleAttempt"]


async def test_a_decided_effect_is_not_opened_again(store: Store) -> None:
    (life,) = await lives(store, 1)
    done = effect_row(life.key, state=EffectState.RECEIPT, value=b"1")
    await hold(store, life.next(effects=(done,)))

    again = life.next(effects=(effect_row(life.key),))

    assert names(await settle(store, again)) == ["Superseded"]
    assert await store.effects(life.key) == [done]


@pytest.mark.parametrize("state", [EffectState.INTENT, EffectState.NOT_DONE])
async def test_an_open_effect_or_one_that_did_not_happen_can_be_tried_again(
    store: Store, state: EffectState
) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.next(effects=(effect_row(life.key, state=state),)))
    again = effect_row(life.key, serial=2)

    await hold(store, life.next(effects=(again,)))

    assert await store.effects(life.key) == [again]


async def test_an_operation_of_another_task_is_refused(store: Store) -> None:
    one, other = await lives(store, 2)
    await hold(store, one.next(effects=(effect_row(one.key, "op"),)))

    assert names(await settle(store, other.next(effects=(effect_row(other.key, "op"),)))) == [
        "Superseded"
    ]


def receipt(life: Life, **fields: Any) -> Receipt:
    row = effect_row(life.key, state=EffectState.RECEIPT, value=b"1", ended_at=3.0)
    return Receipt(life.id, row._replace(**fields))


async def test_a_late_receipt_is_taken_while_its_effect_is_open(store: Store) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.next(effects=(effect_row(life.key),)))
    await hold(store, life.next({"incarnation": 2}))

    await hold(store, receipt(life))

    (row,) = await store.effects(life.key)
    assert (row.state, row.value, row.ended_at) == (EffectState.RECEIPT, b"1", 3.0)


@pytest.mark.parametrize(
    ("intent", "late", "name"),
    [
        ({"operation": "other"}, {}, "Superseded"),
        ({"state": EffectState.NOT_DONE}, {}, "Superseded"),
        ({"state": EffectState.RECEIPT}, {}, "Superseded"),
        ({"epoch": 3}, {}, "LostLease"),
    ],
)
async def test_a_late_receipt_is_refused_once_its_effect_is_not_open_here(
    store: Store, intent: dict[str, Any], late: dict[str, Any], name: str
) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.next(effects=(effect_row(life.key, **intent),)))

    assert names(await settle(store, receipt(life, **late))) == [name]


async def test_a_receipt_that_came_first_keeps_a_new_attempt_from_starting(store: Store) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.next(effects=(effect_row(life.key),)))

    refusals = await settle(
        store, receipt(life), life.next(effects=(effect_row(life.key, serial=2),))
    )

    assert names(refusals) == ["", "Superseded"]


async def test_only_the_guilty_of_a_batch_is_refused(store: Store) -> None:
    made = await lives(store, 9)
    made[4].progress = made[4].progress._replace(incarnation=0)
    made[6].progress = made[6].progress._replace(seq=3)

    refusals = await settle(store, *[life.checkpoint() for life in made])

    assert names(refusals) == ["", "", "", "", "StaleIncarnation", "", "Superseded", "", ""]
    held = [len(await store.steps(life.key)) for life in made]
    assert held == [1, 1, 1, 1, 0, 1, 0, 1, 1]


async def test_what_follows_a_refused_write_of_its_task_is_refused_too(store: Store) -> None:
    one, other = await lives(store, 2)
    one.progress = one.progress._replace(seq=8)

    refusals = await settle(store, one.checkpoint("0/a"), other.checkpoint(), one.checkpoint("0/b"))

    assert names(refusals) == ["Superseded", "", "Superseded"]


async def test_a_number_given_twice_is_refused(store: Store) -> None:
    (life,) = await lives(store, 1)
    runs, events = (run_row(life.key, 1),), (event_row(life.key, 1),)
    await hold(store, life.next(runs=runs, events=events))

    refusals = await settle(store, life.next(runs=runs), life.next(events=events))

    assert names(refusals) == ["Superseded", "Superseded"]


@pytest.mark.parametrize(
    "fields", [{"output": object()}, {"preview": "\ud800"}, {"serial": 1 << 70}]
)
async def test_a_row_that_sqlite_cannot_hold_is_its_writers_fault_alone(
    store: Store, fields: dict[str, Any]
) -> None:
    one, other = await lives(store, 2)

    refusals = await settle(store, one.checkpoint(**fields), other.checkpoint())

    assert names(refusals) == ["Refused", ""]
    assert store.trouble is None


async def test_a_commit_of_nothing_known_is_refused(store: Store) -> None:
    (life,) = await lives(store, 1)
    commit = Life(store, key=store.new_key()).next()
    broken = type(commit)(commit.task, "x", None, commit.after)

    assert names(await settle(store, broken, life.checkpoint())) == ["Refused", ""]


async def test_a_reset_forgets_a_failure_but_never_a_checkpoint(store: Store) -> None:
    (life,) = await lives(store, 1)
    failed = {"outcome": Outcome.FAILED, "error": b"{}", "attempts": 3, "output": None}
    await hold(store, life.checkpoint("0/a", **failed), life.checkpoint("0/b"))
    resets = tuple(StepReset(life.key, identity, 4) for identity in ("0/a", "0/b", "0/none"))

    await hold(store, life.next(resets=resets))

    (_, a), (_, b) = await store.steps(life.key)
    assert a == begun_row(
        life.key, "0/a", attempts=0, deaths_seen=4, open=0, ended_at=2.0, serial=1
    )
    assert b.outcome is Outcome.COMPLETED


async def test_a_reset_is_applied_before_the_row_that_comes_with_it(store: Store) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.checkpoint("0/a", outcome=Outcome.FAILED))
    again = begun_row(life.key, "0/a", serial=2)

    await hold(store, life.next(resets=(StepReset(life.key, "0/a", 0),), steps=(again,)))

    assert [row for _, row in await store.steps(life.key)] == [again]


async def test_a_reset_comes_after_what_was_written_before_it_in_its_batch(store: Store) -> None:
    (life,) = await lives(store, 1)
    again = begun_row(life.key, "0/a", serial=2)

    await hold(
        store,
        life.checkpoint("0/a", outcome=Outcome.FAILED),
        life.next(resets=(StepReset(life.key, "0/a", 0),), steps=(again,)),
    )

    assert [row for _, row in await store.steps(life.key)] == [again]


async def test_a_snapshot_replaces_those_before_it_but_not_the_chapters_first(
    store: Store,
) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.next({"seq": 3}, snapshots=(snapshot_row(life.key, 3),)))
    await hold(store, life.next({"seq": 5}, snapshots=(snapshot_row(life.key, 5, state=b"5"),)))

    assert (await store.load(life.key, flow=False)).base.state == b"5"
    assert (await store.load(life.key, flow=True)).base.seq == 0
    again = life.next({"seq": 6, "chapter_seq": 6}, snapshots=(snapshot_row(life.key, 6),))
    await hold(store, again)
    assert (await store.load(life.key, flow=True)).base.seq == 6


async def test_a_store_taken_over_refuses_every_write(on_file: SqliteStore, file: Path) -> None:
    made = await lives(on_file, 3)
    taker = sqlite3.connect(file, isolation_level=None)
    taker.execute("UPDATE node SET epoch = epoch + 1")
    taker.close()

    refusals = await settle(on_file, *[life.checkpoint() for life in made])

    assert names(refusals) == ["LostLease"] * 3
    assert await on_file.steps(made[0].key) == []


async def test_rows_come_back_as_they_were_written(store: Store) -> None:
    (life,) = await lives(store, 1)
    rows = (
        step_row(life.key, "0/a", appends=b'{"log":[1]}'),
        begun_row(life.key, "0/b"),
        begun_row(life.key, "0/c", due_at=1.5, due_boot=2.5, due_delay=3.5, error=b"{}", open=0),
        step_row(life.key, "0/d", outcome=Outcome.FAILED, error=b"{}", output=None),
        step_row(life.key, "0/e", error=b"{}", due_at=1.0),
    )

    await hold(store, life.next(steps=rows))

    assert [row for _, row in await store.steps(life.key)] == list(rows)
