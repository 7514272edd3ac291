"""Scenarios that only write to a store, for testing the harness by itself."""

from __future__ import annotations

import asyncio
import threading
import time

from everstep.storage.interface import Draft, Refusal, Store
from everstep.storage.records import (
    Commit,
    EventRow,
    NewTask,
    Progress,
    Receipt,
    SnapshotRow,
)
from everstep.testing import Life, boundary, note


class Written(Draft):
    """One commit, and a future that says what became of it."""

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def seal(self) -> Commit | Receipt | None:
        return self._commit

    def settle(self, refusal: Refusal | None) -> None:
        if refusal is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(refusal)


def creation(store: Store, task_id: str) -> Commit:
    key = store.new_key()
    progress = Progress.beginning(1.0)._replace(event_seq=1)
    new = NewTask(key, task_id, "Plain", "tasks", 0, None, "", b"seed", 1.0)
    snapshot = SnapshotRow(key, 0, 1, 1, b"{}", None)
    event = EventRow(key, 1, 1.0, "task_started", None, None)
    return Commit(key, task_id, None, progress, new, snapshots=(snapshot,), events=(event,))


async def three_tasks(life: Life) -> list[str]:
    """Create three tasks, one after the other, each unless it exists."""
    store = life.store()
    await store.open()
    try:
        for name in ("one", "two", "three"):
            if await store.task(name) is None:
                boundary(f"about to write {name}")
                draft = Written(creation(store, name))
                store.submit(draft)
                await draft.done
                note("written", task=name)
        return [row.id for row in await store.tasks()]
    finally:
        await store.close()


async def wrong(life: Life, message: str) -> None:
    raise ValueError(message)


async def never_ends(life: Life) -> None:
    await asyncio.get_running_loop().create_future()


async def blocks(life: Life) -> None:
    time.sleep(60)  # noqa: ASYNC251  that is what it is for


async def leaves_things_behind(life: Life) -> None:
    async def fail() -> None:
        raise ValueError("nobody looks at this")

    failing = asyncio.create_task(fail())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del failing
    threading.Thread(target=time.sleep, args=(30,), name="forgotten", daemon=True).start()
