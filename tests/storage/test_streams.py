"""Streams in the store: numbered at their end, read by an index, fenced like all of a task."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from everstep.storage import ChunkRow, SnapshotRow, SqliteStore, Store
from everstep.storage.sqlite import streams
from everstep.testing import ManualClock
from tests.storage.kit import Life, hold, lives, names, settle, snapshot_row


def chunk(task: int, length: int = 2, stream: str = "words") -> ChunkRow:
    return ChunkRow(task, stream, "say", 1, 0, length, b"[%b]" % b",".join([b'"x"'] * length))


async def lasts(store: Store, life: Life, stream: str = "words") -> list[int]:
    return [found.last for found in await store.chunks(life.key, stream, limit=10_000)]


async def test_pieces_are_numbered_by_stream_in_the_order_of_their_commits(store: Store) -> None:
    one, other = await lives(store, 2)
    both = (chunk(one.key, 3), chunk(one.key, 1))
    await hold(store, one.next(chunks=both), other.next(chunks=(chunk(other.key, 7),)))
    await hold(store, one.next(chunks=(chunk(one.key, 2), chunk(one.key, 5, "other"))))

    assert await lasts(store, one) == [3, 4, 6]
    assert await lasts(store, one, "other") == [5]
    assert await lasts(store, other) == [7]


async def test_reading_begins_with_the_chunk_in_which_the_offset_is(store: Store) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.next(chunks=tuple(chunk(life.key, 3) for _ in range(4))))

    async def after(offset: int, limit: int = 100) -> list[int]:
        found = await store.chunks(life.key, "words", after=offset, limit=limit)
        return [one.last for one in found]

    assert [await after(offset) for offset in (0, 2, 3, 11, 12)] == [
        [3, 6, 9, 12],
        [3, 6, 9, 12],
        [6, 9, 12],
        [12],
        [],
    ]
    assert await after(4, limit=2) == [6, 9]


async def test_pieces_of_a_life_that_has_lost_its_task_are_refused(store: Store) -> None:
    (life,) = await lives(store, 1)
    stale = Life(store, key=life.key, progress=life.progress)
    await hold(store, life.next({"incarnation": 2}))

    refused = await settle(store, stale.next(chunks=(chunk(life.key),)))

    assert names(refused) == ["StaleIncarnation"]
    assert await lasts(store, life) == []


async def test_what_a_server_forgets_leaves_the_newest_chunks_and_the_end_of_each_stream(
    store: Store,
) -> None:
    (life,) = await lives(store, 1)
    await hold(store, life.next(chunks=(chunk(life.key, 4, "rare"), chunk(life.key, 4, "rare"))))
    await hold(store, life.next(chunks=tuple(chunk(life.key) for _ in range(10))))
    snapshot: SnapshotRow = snapshot_row(life.key, 1)
    await hold(store, life.next({"seq": 1}, snapshots=(snapshot,), keeps=3))

    assert await lasts(store, life) == [16, 18, 20]
    assert await lasts(store, life, "rare") == [8]

    await hold(store, life.next(chunks=(chunk(life.key, 1, "rare"),)))
    assert await lasts(store, life, "rare") == [8, 9]


async def test_a_page_of_a_stream_is_found_by_an_index_without_sorting(
    file: Path, clock: ManualClock
) -> None:
    store = SqliteStore(file, clock=clock)
    await store.open()
    await store.close()
    connection = sqlite3.connect(file, isolation_level=None)
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    streams.chunks(connection, 1, "words", 5, 20)
    streams.append(connection, [chunk(1)])
    connection.set_trace_callback(None)

    assert len(asked) == 2
    for statement in asked:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert any("sqlite_autoindex_chunk_1" in line for line in plan), plan
        assert not [line for line in plan if "TEMP" in line], plan
    connection.close()
