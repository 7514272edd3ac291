"""The loop stands aside for the thread that writes, where it would leave it no time."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
from pathlib import Path

import pytest

from everstep.storage.sqlite.executor import ThreadExecutor


@pytest.mark.real
@pytest.mark.timeout(60)
async def test_a_loop_that_never_rests_waits_for_the_work_of_the_thread(tmp_path: Path) -> None:
    loops = threading.get_ident()
    turned = threading.Event()

    async def hog() -> None:
        while True:
            turned.set()
            await asyncio.sleep(0)

    def work(_: sqlite3.Connection) -> str:
        while sys._current_frames()[loops].f_code is not threading.Condition.wait.__code__:
            turned.clear()
            turned.wait(0.001)
        return "the loop waits"

    executor = ThreadExecutor(f"file:{tmp_path / 'data.db'}", lambda _: None)
    await executor.open()
    busy = asyncio.create_task(hog())

    assert await executor.run(work) == "the loop waits"

    busy.cancel()
    await executor.close()
