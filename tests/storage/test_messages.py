"""Messages in the store: sent once, taken once, and what they do to whom they are for."""

from __future__ import annotations

from typing import Any

import pytest

from everstep.storage import Commit, Mail, MessageRow, Post, Refused, Status, Store, Undelivered
from tests.storage.kit import Life, hold, lives, names, settle


def post(life: Life, name: str = "m-1", limit: int = 9) -> Post:
    """A message from outside."""
    return Post(life.key, life.id, MessageRow(life.key, name, None, b"{}", 5.0), limit)


def send(sender: Life, receiver: Life, name: str = "m-1") -> Commit:
    """A commit of a task that sends."""
    message = MessageRow(receiver.key, name, sender.id, b"{}", 5.0)
    seq = sender.progress.event_seq
    return sender.next({"event_seq": seq}, sends=(message,))


def take(life: Life, mail: Mail) -> Commit:
    seq = life.progress.seq + 1
    return life.next({"seq": seq}, takes=(mail,))


async def untaken(store: Store, life: Life) -> list[str]:
    return [mail.id for mail in await store.messages(life.key)]


async def rests(store: Store, **changes: Any) -> Life:
    """A task that waits out of memory."""
    life = Life(store)
    waits: dict[str, Any] = {"status": Status.WAITING, "listens": 1, "due_at": 9.0}
    await hold(store, life.create(**(waits | changes)))
    return life


async def test_messages_are_read_in_order_until_they_are_taken(store: Store) -> None:
    one, other = await lives(store, 2)
    await hold(store, post(one, "a"), send(other, one, "b"), post(one, "c"), post(other, "d"))
    first, second, _ = await store.messages(one.key)
    assert (first.sender, second.sender) == (None, "task-1")

    await hold(store, take(one, first))

    assert await untaken(store, one) == ["b", "c"]
    assert [mail.id for mail in await store.messages(one.key, after=second.position)] == ["c"]
    assert [mail.id for mail in await store.messages(one.key, limit=1)] == ["b"]


async def test_a_message_is_taken_once(store: Store) -> None:
    (life,) = await lives(store, 1)
    await hold(store, post(life))
    (mail,) = await store.messages(life.key)
    await hold(store, take(life, mail))

    refusals = await settle(store, take(life, mail))

    assert names(refusals) == ["Superseded"]
    assert "is taken" in str(refusals[0])


async def test_a_message_with_a_known_id_changes_nothing_not_even_when_taken(store: Store) -> None:
    one, other = await lives(store, 2)
    await hold(store, post(one), post(one), send(other, one))
    (mail,) = await store.messages(one.key)
    await hold(store, take(one, mail))

    await hold(store, post(one), send(other, one))

    assert await untaken(store, one) == []


async def test_a_message_to_a_full_mailbox_is_refused_alone(store: Store) -> None:
    one, other = await lives(store, 2)

    refusals = await settle(
        store, post(one, "a", 1), other.event(), post(one, "b", 1), post(other, "c", 1)
    )

    assert names(refusals) == ["", "", "Undelivered", ""]
    assert await untaken(store, one) == ["a"]
    refused = refusals[2]
    assert isinstance(refused, Undelivered)
    assert refused.status is None


@pytest.mark.parametrize("status", [Status.SUCCEEDED, Status.FAILED, Status.CANCELLED])
async def test_a_message_to_a_task_that_has_ended_is_refused(store: Store, status: Status) -> None:
    life = Life(store)
    await hold(store, life.create(status=status))

    (refused,) = await settle(store, post(life))

    assert isinstance(refused, Undelivered)
    assert refused.status == status


async def test_a_message_queues_a_task_that_listens_out_of_memory(store: Store) -> None:
    life = await rests(store)

    await hold(store, post(life))

    row = await store.task(life.id)
    assert row is not None
    assert (row.progress.status, row.progress.due_at) == (Status.QUEUED, None)
    assert row.progress.event_seq == life.progress.event_seq + 1
    (event,) = await store.events(life.key)
    assert event.event.kind == "task_woken"


@pytest.mark.parametrize(
    "changes", [{"listens": 0}, {"epoch": 1}, {"status": Status.QUEUED}, {"status": Status.PAUSED}]
)
async def test_a_message_queues_no_other_task(store: Store, changes: dict[str, Any]) -> None:
    life = await rests(store, **changes)

    await hold(store, post(life))

    row = await store.task(life.id)
    assert row is not None
    assert row.progress == life.progress


async def test_a_task_that_leaves_memory_is_queued_where_it_has_not_seen_a_message(
    store: Store,
) -> None:
    (life,) = await lives(store, 1)
    leaves = {"status": Status.WAITING, "epoch": None, "listens": 1}

    await hold(store, post(life), life.next(leaves, seen=0))

    row = await store.task(life.id)
    assert row is not None
    assert row.progress.status is Status.QUEUED


async def test_a_task_that_leaves_memory_waits_where_it_has_seen_all_messages(
    store: Store,
) -> None:
    (life,) = await lives(store, 1)
    await hold(store, post(life))
    (mail,) = await store.messages(life.key)
    leaves = {"status": Status.WAITING, "epoch": None, "listens": 1}

    await hold(store, life.next(leaves, seen=mail.position))

    row = await store.task(life.id)
    assert row is not None
    assert row.progress.status is Status.WAITING


async def test_one_who_sends_learns_how_the_receiver_stands(store: Store) -> None:
    (life,) = await lives(store, 1)
    await hold(store, post(life))

    assert await store.recipient("nobody") is None
    assert await store.recipient(life.id) == (life.key, Status.RUNNING, 1, life.actor)
    assert issubclass(Undelivered, Refused)
