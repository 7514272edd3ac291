"""What the store can be asked, and in which order it answers."""

from __future__ import annotations

import math
from typing import Any

import pytest

from everstep.storage import Share, Status, StepRow, Store, TaskNotFound
from tests.storage.kit import (
    Life,
    begun_row,
    effect_row,
    hold,
    lives,
    run_row,
    snapshot_row,
    step_row,
)


async def claimable(store: Store, *shares: Share, **other: Any) -> list[str]:
    """Ids of the tasks that can be claimed at the instant 100, or as `other` says."""
    asked: dict[str, Any] = {"actors": ["Report"], "suspects_from": 2}
    asked |= {"now": 100.0, "since_boot": 10.0}
    asked |= other
    rows = await store.claimable("tasks", shares or (Share(0, None, 100),), **asked)
    return [row.id for row in rows]


async def suspects(store: Store, **other: Any) -> list[str]:
    """Ids of the suspects, or as `other` says."""
    asked: dict[str, Any] = {"actors": ["Report"], "suspects_from": 2, "limit": 100}
    asked |= other
    return [row.id for row in await store.suspects("tasks", **asked)]


async def queued(store: Store, name: str, **changes: Any) -> Life:
    life = Life(store, id=name, priority=changes.pop("priority", 0))
    life.actor = changes.pop("actor", "Report")
    life.pool = changes.pop("pool", "tasks")
    life.lane = changes.pop("lane", None)
    await hold(store, life.create(**changes))
    return life


async def test_a_task_is_found_by_its_exact_id(store: Store) -> None:
    life = Life(store, id="report-7", priority=3)
    await hold(store, life.create(due_at=5.0, reason="why", output=b"1"))

    row = await store.task("report-7")

    assert row is not None
    assert (row.key, row.id, row.actor, row.pool) == (life.key, "report-7", "Report", "tasks")
    assert (row.priority, row.lane, row.given, row.seed) == (3, None, "g", b"seed")
    assert row.progress == life.progress
    assert isinstance(row.progress.status, Status)
    assert await store.task("report-8") is None


async def test_tasks_are_filtered_and_paged_by_key(store: Store) -> None:
    await queued(store, "a")
    await queued(store, "b", actor="Chat", pool="chats")
    await queued(store, "c", status=Status.PAUSED)
    await queued(store, "d", actor="Chat", lane="ann")

    async def ids(**by: Any) -> list[str]:
        return [row.id for row in await store.tasks(**by)]

    assert await ids() == ["a", "b", "c", "d"]
    assert await ids(statuses=[Status.PAUSED]) == ["c"]
    assert await ids(actors=["Chat"]) == ["b", "d"]
    assert await ids(pool="chats") == ["b"]
    assert await ids(lane="ann") == ["d"]
    assert await ids(actors=["Chat"], pool="tasks", statuses={Status.QUEUED}) == ["d"]
    first = await store.tasks(limit=2)
    assert await ids(after=first[-1].key, limit=2) == ["c", "d"]


async def test_tasks_that_stopped_in_several_ways_come_together_by_key(store: Store) -> None:
    stopped = [Status.FAILED, Status.CANCELLED, Status.PAUSED]
    for name, status in zip("abcdefg", [*stopped, Status.QUEUED, *stopped], strict=True):
        await queued(store, name, status=status)

    async def ids(**by: Any) -> list[str]:
        return [row.id for row in await store.tasks(**by)]

    assert await ids(statuses=stopped) == ["a", "b", "c", "e", "f", "g"]
    assert await ids(statuses=stopped[:2], limit=3) == ["a", "b", "e"]
    (last,) = await store.tasks(statuses=[Status.FAILED], limit=1)
    assert await ids(statuses=stopped, after=last.key, limit=2) == ["b", "c"]
    assert await ids(statuses=[Status.PAUSED], pool="chats") == []
    assert await ids(statuses=[Status.PAUSED, Status.QUEUED]) == ["c", "d", "g"]


async def test_claimable_tasks_come_queue_by_queue_and_by_age(store: Store) -> None:
    await queued(store, "old")
    await queued(store, "urgent", priority=9)
    await queued(store, "new")
    await queued(store, "in a lane", lane="a")
    await queued(store, "running", status=Status.RUNNING, epoch=1)
    await queued(store, "elsewhere", pool="other")
    await queued(store, "unknown", actor="Chat")
    await queued(store, "suspect", deaths=2)
    await queued(store, "died once", deaths=1)
    plain, urgent = Share(0, None, 10), Share(9, None, 10)

    assert await claimable(store, urgent, plain) == ["urgent", "old", "new", "died once"]
    assert await claimable(store, Share(0, None, 2), Share(0, "a", 2)) == [
        "old", "new", "in a lane"
    ]  # fmt: skip
    assert await claimable(store, urgent, plain, actors=[]) == []
    assert await claimable(store, Share(0, "b", 1), Share(1, None, 1)) == []


@pytest.mark.parametrize(
    ("due", "now", "since_boot", "is_due"),
    [
        ({}, 0.0, None, True),
        ({"due_at": 100.0}, 100.0, 0.0, True),
        ({"due_at": 100.1}, 100.0, 999.0, False),
        ({"due_at": 999.0, "due_boot": 10.0}, 100.0, 10.0, True),
        ({"due_at": 1.0, "due_boot": 10.1}, 100.0, 10.0, False),
        ({"due_at": 1.0, "due_boot": 10.1}, 100.0, None, True),
        ({"due_at": 999.0, "due_boot": 1.0}, 100.0, None, False),
    ],
)
async def test_a_task_is_due_by_the_time_since_boot_where_both_are_known(
    store: Store, due: dict[str, float], now: float, since_boot: float | None, is_due: bool
) -> None:
    await queued(store, "a", **due)

    assert bool(await claimable(store, now=now, since_boot=since_boot)) is is_due


async def test_suspects_come_by_their_newest_death_due_or_not(store: Store) -> None:
    await queued(store, "older", deaths=2, death_epoch=3)
    await queued(store, "newest", deaths=3, death_epoch=5, due_at=1e9)
    await queued(store, "also newest", deaths=2, death_epoch=5)
    await queued(store, "innocent", deaths=1, death_epoch=9)
    await queued(store, "elsewhere", deaths=2, death_epoch=9, pool="other")
    await queued(store, "unknown", deaths=2, death_epoch=9, actor="Chat")

    assert await suspects(store) == ["newest", "also newest", "older"]
    assert await suspects(store, limit=1) == ["newest"]


async def test_orphans_are_tasks_that_run_under_an_earlier_epoch(store: Store) -> None:
    made = await lives(store, 3)
    await queued(store, "queued")
    ended = made[0].next({"status": Status.SUCCEEDED, "epoch": None})
    await hold(store, ended)
    assert await store.orphans() == []

    await store.close()
    await store.open()

    assert [row.id for row in await store.orphans()] == ["task-1", "task-2"]
    assert [row.id for row in await store.orphans(after=made[1].key)] == ["task-2"]
    assert [row.id for row in await store.orphans(limit=1)] == ["task-1"]


async def test_tasks_that_waited_in_memory_are_orphans_and_those_that_had_left_it_are_not(
    store: Store,
) -> None:
    await queued(store, "in memory", status=Status.WAITING, epoch=store.epoch)
    await queued(store, "out of memory", status=Status.WAITING)
    assert await store.orphans() == []

    await store.close()
    await store.open()

    assert [row.id for row in await store.orphans()] == ["in memory"]


async def test_waits_are_due_by_the_time_since_boot_where_that_is_known(store: Store) -> None:
    waiting: dict[str, dict[str, Any]] = {
        "by boot": {"due_at": 9e9, "due_boot": 9.0, "due_delay": 60.0},
        "later by boot": {"due_at": 1.0, "due_boot": 30.0, "due_delay": 60.0},
        "by wall": {"due_at": 50.0, "due_delay": 60.0},
        "later by wall": {"due_at": 130.0, "due_delay": math.inf},
        "in memory": {"due_at": 1.0, "due_boot": 1.0, "epoch": store.epoch},
        "elsewhere": {"due_at": 1.0, "due_boot": 1.0, "pool": "other"},
        "without an end": {},
    }
    for name, due in waiting.items():
        await queued(store, name, status=Status.WAITING, **due)

    due_now = await store.due_waits("tasks", now=100.0, since_boot=10.0, limit=9)
    assert [row.id for row in due_now] == ["by boot", "by wall"]
    assert len(await store.due_waits("tasks", now=100.0, since_boot=10.0, limit=1)) == 1
    assert await store.next_wait("tasks", now=100.0, since_boot=10.0) == 0
    assert await store.next_wait("tasks", now=10.0, since_boot=1.0) == 8.0
    assert await store.next_wait("none", now=10.0, since_boot=1.0) is None


async def test_open_steps_are_those_that_have_begun_and_not_ended(store: Store) -> None:
    one, other, third = await lives(store, 3)
    await hold(
        store,
        one.next(steps=(begun_row(one.key, "0/a"), step_row(one.key, "0/b"))),
        other.next(steps=(begun_row(other.key, "0/a", serial=2),)),
        third.next(steps=(begun_row(third.key, "0/a"),)),
    )

    rows = await store.open_steps([one.key, other.key])

    assert rows == [begun_row(one.key, "0/a"), begun_row(other.key, "0/a", serial=2)]
    assert await store.open_steps([]) == []


async def test_open_waits_fall_due_or_hold_a_question_and_have_no_outcome(store: Store) -> None:
    one, other = await lives(store, 2)

    def wait(identity: str, **fields: Any) -> StepRow:
        return step_row(one.key, identity, seq=None, outcome=None)._replace(**fields)

    sleeps = wait("a", due_at=5.0, output=None)
    asks = wait("b", output=b'{"prompt":"Well?"}')
    ended = step_row(one.key, "c", due_at=5.0)
    given_up = wait("d", output=None)
    await hold(store, one.next(steps=(sleeps, asks, ended, given_up)))

    assert await store.open_waits([one.key, other.key]) == [sleeps, asks]
    assert await store.open_waits([]) == []


async def test_the_next_due_is_that_of_a_queued_task_of_the_pool(store: Store) -> None:
    assert await store.next_due("tasks", now=15.0, since_boot=None) is None
    await queued(store, "a", due_at=50.0)
    await queued(store, "b", due_at=40.0)
    await queued(store, "c", due_at=10.0, pool="other")
    await queued(store, "d", due_at=20.0, status=Status.PAUSED)
    await queued(store, "e")

    assert await store.next_due("tasks", now=15.0, since_boot=None) == 25.0
    assert await store.next_due("tasks", now=45.0, since_boot=None) == 5.0


async def test_what_is_left_of_a_delay_is_counted_from_the_boot_where_that_is_known(
    store: Store,
) -> None:
    await queued(store, "a", due_at=5000.0, due_boot=70.0, due_delay=100.0)
    await queued(store, "b", due_at=6000.0, due_delay=90.0)

    assert await store.next_due("tasks", now=15.0, since_boot=30.0) == 40.0
    assert await store.next_due("tasks", now=15.0, since_boot=None) == 90.0


async def test_a_flow_loads_the_start_of_its_chapter_and_all_steps_of_it(store: Store) -> None:
    (life,) = await lives(store, 1)
    key = life.key
    await hold(
        store,
        life.checkpoint("0/a", appends=b'{"log":[1]}'),
        life.next({"seq": 2}, runs=(run_row(key, 2, appends=b'{"log":[2]}'),)),
        life.next(
            {"seq": 3, "chapter": 1, "chapter_seq": 2},
            snapshots=(snapshot_row(key, 2, chapter=1),),
            runs=(run_row(key, 3, chapter=1),),
            steps=(
                step_row(key, "1/open", chapter=1, seq=None, outcome=None),
                step_row(key, "1/z", chapter=1, seq=3),
                step_row(key, "1/a", chapter=1, seq=4, appends=b'{"log":[4]}'),
            ),
            effects=(effect_row(key),),
        ),
    )

    loaded = await store.load(key, flow=True)

    assert loaded.row == await store.task(life.id)
    assert (loaded.base.seq, loaded.base.chapter) == (2, 1)
    assert [step.identity for step in loaded.steps] == ["1/z", "1/a", "1/open"]
    assert loaded.runs == (run_row(key, 3, chapter=1),)
    assert loaded.appends == ((1, b'{"log":[1]}'), (2, b'{"log":[2]}'))
    assert loaded.effects == (effect_row(key),)


async def test_others_load_their_newest_snapshot_and_the_appends_before_it(store: Store) -> None:
    life = Life(store)
    created = life.run()
    first = snapshot_row(life.key, appends=b'{"log":[0]}')
    await hold(
        store,
        type(created)(life.key, life.id, None, life.progress, created.new, snapshots=(first,)),
    )
    key = life.key
    nested = step_row(key, "0/a/x", above="0/a", seq=1, appends=b'{"log":["part of 0/a"]}')
    await hold(
        store,
        life.checkpoint("0/a", appends=b'{"log":[1]}'),
        life.next(steps=(nested,)),
        life.next({"seq": 2}, snapshots=(snapshot_row(key, 2),)),
    )
    await hold(store, life.checkpoint("0/b", appends=b'{"log":[3]}'))

    loaded = await store.load(key, flow=False)

    assert loaded.base.seq == 2
    assert loaded.appends == ((0, b'{"log":[0]}'), (1, b'{"log":[1]}'))


async def test_what_does_not_fit_a_page_is_loaded_whole(store: Store) -> None:
    (life,) = await lives(store, 1)
    count = 2005
    steps = tuple(
        step_row(life.key, f"0/{number}", seq=number, appends=b"{}")
        for number in range(count, 0, -1)
    )
    snapshot = snapshot_row(life.key, count)
    await hold(store, life.next({"seq": count}, steps=steps, snapshots=(snapshot,)))

    loaded = await store.load(life.key, flow=False)

    assert [step.seq for step in loaded.steps] == list(range(1, count + 1))
    assert [seq for seq, _ in loaded.appends] == list(range(1, count + 1))


@pytest.mark.parametrize("count", [1000, 0])
async def test_a_last_page_may_be_full_or_empty(store: Store, count: int) -> None:
    (life,) = await lives(store, 1)
    steps = tuple(
        step_row(life.key, f"0/{number}", seq=1, appends=b"{}") for number in range(count)
    )
    await hold(store, life.next({"seq": 1}, steps=steps, snapshots=(snapshot_row(life.key, 1),)))

    loaded = await store.load(life.key, flow=False)

    assert (len(loaded.steps), len(loaded.appends)) == (count, count)


async def test_loading_an_unknown_task_says_so(store: Store) -> None:
    with pytest.raises(TaskNotFound):
        await store.load(99, flow=True)


async def test_steps_come_in_the_order_in_which_they_first_began(store: Store) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.next(steps=(begun_row(life.key, "0/z"), begun_row(life.key, "0/a"))))
    await hold(store, life.checkpoint("0/a"), life.checkpoint("0/z"))

    rows = await store.steps(life.key)

    assert [row.identity for _, row in rows] == ["0/z", "0/a"]
    assert [row.identity for _, row in await store.steps(life.key, after=rows[0][0])] == ["0/a"]
    assert len(await store.steps(life.key, limit=1)) == 1


async def test_events_are_numbered_by_task_and_placed_among_all(store: Store) -> None:
    one, other = await lives(store, 2)
    await hold(store, one.event("a"), other.event("b"), one.event("c"))

    of_one = await store.events(one.key)
    of_all, upto = await store.log()

    assert [(found.event.seq, found.event.kind) for found in of_one] == [(1, "a"), (2, "c")]
    assert [(found.task_id, found.event.kind) for found in of_all] == [
        ("task-0", "a"),
        ("task-1", "b"),
        ("task-0", "c"),
    ]
    assert await store.events(one.key, after=1) == of_one[1:]
    (second,), place = await store.log(after=of_all[0].position, limit=1)
    assert second == of_all[1]
    assert (place, upto) == (second.position, of_all[-1].position)
    assert await store.log(after=upto) == ([], upto)


async def test_effects_come_in_the_order_of_their_intents(store: Store) -> None:
    (life,) = await lives(store, 1)
    rows = [effect_row(life.key, "op-z"), effect_row(life.key, "op-a")]
    await hold(store, *[life.next(effects=(row,)) for row in rows])

    assert await store.effects(life.key) == rows
    assert await store.effects(life.key + 1) == []
