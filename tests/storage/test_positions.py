"""The log of all tasks tells the events of each task in the order of their numbers."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from everstep.storage import Commit, MessageRow, Post, SqliteStore, Status, StepRow, Store, Write
from everstep.testing import ManualClock
from tests.storage.kit import Life, begun_row, event_row, hold, lives, settle

Act = tuple[str, int, int]
"""What happens to which task, and which other one it has to do with."""

ACTS = ["event", "claim", "leave", "end", "send", "post"]

batches = st.lists(
    st.lists(
        st.tuples(st.sampled_from(ACTS), st.integers(0, 2), st.integers(0, 2)),
        min_size=1,
        max_size=8,
    ),
    max_size=8,
)


def told_of(life: Life, kind: str, changes: dict[str, Any], **rows: Any) -> Commit:
    """A write of these changes, with an event."""
    seq = life.progress.event_seq + 1
    event = event_row(life.key, seq, kind=kind)
    return life.next({**changes, "event_seq": seq}, events=(event,), **rows)


def leaves(life: Life, **rows: Any) -> Commit:
    """The write by which a task leaves memory, to wait."""
    changes = {"status": Status.WAITING, "epoch": None, "listens": 1}
    return told_of(life, "task_suspended", changes, **rows)


def ends(life: Life, parent: int | None = None) -> Commit:
    return told_of(life, "task_succeeded", {"status": Status.SUCCEEDED}, parent=parent)


def waits_for(life: Life, child: Life) -> tuple[StepRow]:
    """The open row of a wait for a child."""
    wait: dict[str, Any] = {"name": "ctx.result", "key": child.id, "attempts": 0, "open": 0}
    return (begun_row(life.key, f"ctx.result:{child.id}", output=b"{}", **wait),)


def message(life: Life, name: str = "m") -> MessageRow:
    return MessageRow(life.key, name, None, b"{}", 1.0)


def post(life: Life, name: str = "m") -> Post:
    return Post(life.key, life.id, message(life, name), limit=99)


async def told(store: Store, life: Life) -> list[tuple[int, str]]:
    """Its events in the log of all: their numbers and kinds."""
    page = await store.log(limit=10_000)
    return [(one.event.seq, one.event.kind) for one in page.events if one.event.task == life.key]


WOKEN = [(1, "task_suspended"), (2, "task_woken")]


async def test_the_end_of_a_child_wakes_a_parent_after_it_left_in_the_same_batch(
    store: Store,
) -> None:
    parent, child = await lives(store, 2)

    await hold(store, leaves(parent, steps=waits_for(parent, child)), ends(child, parent.key))

    assert await told(store, parent) == WOKEN


async def test_a_task_that_leaves_is_woken_after_it_left_by_a_child_that_ended_before(
    store: Store,
) -> None:
    parent, child = await lives(store, 2)
    await hold(store, ends(child))

    await hold(store, leaves(parent, steps=waits_for(parent, child), awaits=(child.id,)))

    assert await told(store, parent) == WOKEN


async def test_a_task_that_leaves_is_woken_after_it_left_by_a_message_that_came_before(
    store: Store,
) -> None:
    (life,) = await lives(store, 1)
    await hold(store, post(life))

    await hold(store, leaves(life, seen=0))

    assert await told(store, life) == WOKEN


async def test_what_a_task_sends_wakes_one_after_it_left_in_the_same_batch(store: Store) -> None:
    one, other = await lives(store, 2)

    await hold(store, leaves(one), other.next(sends=(message(one),)))

    assert await told(store, one) == WOKEN


@given(batches=batches)
@settings(max_examples=60, deadline=None)
def test_the_numbers_of_each_task_rise_with_the_positions_whatever_shares_a_batch(
    batches: list[list[Act]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(all_in_order(Path(folder) / "tasks.db", batches))


async def all_in_order(file: Path, batches: list[list[Act]]) -> None:
    store = SqliteStore(file, clock=ManualClock(), durability="normal")
    await store.open()
    try:
        made = await lives(store, 3)
        for batch in batches:
            writes = [write_of(made, act, f"{len(batch)}") for act in batch]
            await settle(store, *writes)
            await look_again(store, made)
        for life in made:
            numbers = [number for number, _ in await told(store, life)]
            assert numbers == list(range(1, life.progress.event_seq + 1))
    finally:
        await store.close()


async def look_again(store: Store, made: list[Life]) -> None:
    """Go on from what the store holds, whoever was woken or refused."""
    for life in made:
        row = await store.task(life.id)
        assert row is not None
        life.progress = row.progress


def write_of(made: list[Life], act: Act, name: str) -> Write:
    what, number, which = act
    life, other = made[number], made[which]
    match what:
        case "claim":
            running = {"status": Status.RUNNING, "epoch": life.store.epoch}
            return told_of(life, "task_claimed", running)
        case "leave":
            return leaves(life, steps=waits_for(life, other), awaits=(other.id,), seen=0)
        case "end":
            return ends(life, parent=other.key)
        case "send":
            return told_of(life, "sent", {}, sends=(message(other, f"{number}"),))
        case "post":
            return post(other, name)
        case _:
            return life.event()
