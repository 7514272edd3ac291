"""Group commit: what shares a batch, in which order, and who is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from everstep.storage import Commit, Refusal, SqliteStore, Store, StoreClosed, Write
from everstep.storage.sqlite.writer import MOST_SETTLED, MOST_WRITES
from everstep.testing import ManualClock
from tests.storage.kit import Life, Note, begun_row, hold, lives, names, settle, submit


async def test_a_draft_is_sealed_only_when_its_batch_is_taken(store: Store) -> None:
    (life,) = await lives(store, 1)
    note = Note(life.event())

    store.submit(note)

    assert note.sealed == 0
    assert await note.settled is None
    assert note.sealed == 1


async def test_drafts_are_sealed_and_settled_in_the_order_of_their_submission(
    store: Store,
) -> None:
    order: list[str] = []

    class Watched(Note):
        def __init__(self, name: str, write: Commit) -> None:
            super().__init__(write)
            self.name = name

        def seal(self) -> Write | None:
            order.append(f"seal {self.name}")
            return super().seal()

        def settle(self, refusal: Refusal | None) -> None:
            order.append(f"settle {self.name}")
            super().settle(refusal)

    made = await lives(store, 3)
    notes = [Watched(life.id[-1], life.event()) for life in made]
    for note in notes:
        store.submit(note)
    await asyncio.gather(*[note.settled for note in notes])

    assert order == [*(f"seal {n}" for n in range(3)), *(f"settle {n}" for n in range(3))]


async def test_a_draft_with_nothing_left_to_write_is_settled_all_the_same(store: Store) -> None:
    note = Note(None)

    store.submit(note)

    assert await note.settled is None


async def test_writes_of_one_task_that_share_a_batch_are_applied_in_order(store: Store) -> None:
    life = Life(store)

    await hold(
        store,
        life.run(),
        life.checkpoint("0/a"),
        life.next({"crashes": 1}),
        life.checkpoint("0/b"),
        life.next({"crashes": 0, "output": b"1"}),
    )

    row = await store.task(life.id)
    assert row is not None
    assert row.progress == life.progress


async def test_more_writes_than_a_batch_holds_are_all_written(store: Store) -> None:
    count = 2 * MOST_WRITES + 1

    await lives(store, count)

    assert len(await store.tasks(limit=count + 1)) == count


async def test_others_get_their_turns_while_a_large_batch_is_settled(store: Store) -> None:
    made = await lives(store, 3 * MOST_SETTLED)
    notes = [Note(life.event()) for life in made]
    settled: list[int] = []

    async def look() -> None:
        while True:
            settled.append(sum(note.settled.done() for note in notes))
            await asyncio.sleep(0)

    for note in notes:
        store.submit(note)
    looking = asyncio.create_task(look())
    await asyncio.gather(*[note.settled for note in notes])
    looking.cancel()

    in_one_turn = [later - sooner for sooner, later in pairwise([*settled, len(notes)])]
    assert max(in_one_turn) == MOST_SETTLED


async def test_large_writes_are_spread_over_batches(store: Store) -> None:
    made = await lives(store, 5)
    notes = [Note(with_size(life.event(), 3_000_000)) for life in made]
    sealed_at_first: list[int] = []
    notes[0].settled.add_done_callback(
        lambda _: sealed_at_first.append(sum(note.sealed for note in notes))
    )

    for note in notes:
        store.submit(note)
    await asyncio.gather(*[note.settled for note in notes])

    assert sealed_at_first[0] < len(notes)


def with_size(commit: Commit, size: int) -> Commit:
    return Commit(
        commit.task, commit.task_id, commit.before, commit.after, events=commit.events, size=size
    )


async def test_a_cancelled_waiter_changes_nothing(store: Store) -> None:
    (life,) = await lives(store, 1)

    async def write() -> None:
        await hold(store, life.checkpoint())

    writing = asyncio.create_task(write())
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await hold(store, life.event())

    assert len(await store.steps(life.key)) == 1


async def test_a_draft_that_fails_harms_nobody_else(
    store: Store, complaints: list[dict[str, Any]]
) -> None:
    class Broken(Note):
        def seal(self) -> Write | None:
            raise RuntimeError("cannot encode")

    class Deaf(Note):
        def settle(self, refusal: Refusal | None) -> None:
            super().settle(refusal)
            raise RuntimeError("cannot hear")

    one, other = await lives(store, 2)
    notes = [Broken(one.event()), Deaf(other.event()), Note(other.event())]
    for note in notes:
        store.submit(note)

    refusals = [await note.settled for note in notes]

    assert names(refusals) == ["Refused", "", ""]
    assert [str(complaint["exception"]) for complaint in complaints] == [
        "cannot encode",
        "cannot hear",
    ]


@pytest.fixture
async def complaints() -> AsyncIterator[list[dict[str, Any]]]:
    """What the loop's exception handler was told."""
    heard: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: heard.append(context))
    yield heard
    loop.set_exception_handler(None)


async def test_closing_writes_what_was_submitted(store: Store) -> None:
    made = await lives(store, 3)
    notes = submit(store, *[life.checkpoint() for life in made])

    await store.close()

    assert [note.settled.result() for note in notes] == [None] * 3
    await store.open()
    assert [len(await store.steps(life.key)) for life in made] == [1, 1, 1]


async def test_closing_can_be_done_twice_and_by_two_at_once(store: Store) -> None:
    await asyncio.gather(store.close(), store.close())

    await store.close()


async def test_a_cancelled_close_is_finished_first(store: Store) -> None:
    (life,) = await lives(store, 1)
    (note,) = submit(store, life.checkpoint())
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)

    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing

    assert note.settled.result() is None
    with pytest.raises(StoreClosed):
        store.submit(note)


async def test_a_closed_store_says_that_it_is(store: Store) -> None:
    await store.close()

    with pytest.raises(StoreClosed, match="it is closed"):
        store.new_key()
    with pytest.raises(StoreClosed, match="it is closed"):
        store.submit(Note(None))
    with pytest.raises(StoreClosed, match="it is closed"):
        await store.ready()
    with pytest.raises(StoreClosed, match="it is closed"):
        await store.task("x")


async def test_every_opening_raises_the_epoch(store: Store) -> None:
    first = store.epoch

    await store.close()
    await store.open()

    assert store.epoch == first + 1


async def test_keys_are_never_given_twice(store: Store) -> None:
    made = await lives(store, 2)

    await store.close()
    await store.open()

    assert store.new_key() > max(life.key for life in made)


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [("one", "one", 5.0), ("one", "another", None), ("", "", None)],
)
async def test_seconds_since_boot_are_forgotten_unless_it_is_the_same_boot(
    file: Path, before: str, after: str, kept: float | None
) -> None:
    store = SqliteStore(file, clock=ManualClock(boot=before))
    await store.open()
    life = Life(store)
    due: dict[str, Any] = {"due_at": 9.0, "due_boot": 5.0, "due_delay": 5.0}
    await hold(store, life.create(**due), life.next(steps=(begun_row(life.key, **due),)))
    await store.close()

    store = SqliteStore(file, clock=ManualClock(boot=after))
    await store.open()

    row = await store.task(life.id)
    ((_, step),) = await store.steps(life.key)
    await store.close()
    assert row is not None
    assert (row.progress.due_at, row.progress.due_boot) == (9.0, kept)
    assert (step.due_at, step.due_boot) == (9.0, kept)


async def test_a_store_has_no_trouble_as_a_rule(store: Store) -> None:
    await store.ready()

    assert store.trouble is None
    assert store.orderly_epochs == frozenset()
    assert repr(store).endswith(f"epoch {store.epoch}>")


async def test_refusals_do_not_disturb_the_next_batch(store: Store) -> None:
    (life,) = await lives(store, 1)
    late = life.checkpoint()
    life.progress = life.progress._replace(seq=0, event_seq=0)
    await hold(store, life.checkpoint())

    assert names(await settle(store, late)) == ["Superseded"]

    await hold(store, life.event())
