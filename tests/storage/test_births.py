"""Tasks that are created together: all of them, or none."""

from __future__ import annotations

import pytest

from everstep.storage import Births, ChildRow, EventRow, NewTask, Store, Superseded
from tests.storage.kit import QUEUED, hold, lives, settle, snapshot_row


def newborn(store: Store, name: str) -> ChildRow:
    key = store.new_key()
    new = NewTask(key, name, "Actor", "tasks", 0, None, "g", b"seed", 1.0)
    event = EventRow(key, 1, 1.0, "task_started", None, b"{}")
    return ChildRow(new, QUEUED._replace(event_seq=1), snapshot_row(key), event)


def births(store: Store, *names: str) -> Births:
    return Births(tuple(newborn(store, name) for name in names))


async def test_what_begins_together_is_all_there(store: Store) -> None:
    await hold(store, births(store, "a", "b"))

    a, b = await store.tasks()
    assert (a.id, b.id) == ("a", "b")
    assert [event.event.kind for event in await store.events(b.key)] == ["task_started"]
    assert (await store.load(a.key, flow=True)).base.state == snapshot_row(a.key).state
    assert {row.id for row in await store.named(["b", "c", "a"])} == {"a", "b"}


@pytest.mark.parametrize("names", [("b", "a"), ("b", "c", "b")], ids=["exists", "twice"])
async def test_one_whose_id_exists_keeps_all_of_them_out_and_nobody_else(
    store: Store, names: tuple[str, ...]
) -> None:
    (other,) = await lives(store, 1)
    await hold(store, births(store, "a"))

    refusals = await settle(store, births(store, *names), other.checkpoint())

    assert [type(refusal) for refusal in refusals] == [Superseded, type(None)]
    assert [row.id for row in await store.tasks() if row.id != other.id] == ["a"]
