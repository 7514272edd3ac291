"""The stores that the contract is tested on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from everstep.storage import MemoryStore, SqliteStore, Store
from everstep.testing import ManualClock
from tests.storage.kit import put_away


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test's store lies."""
    return tmp_path / "tasks.db"


@pytest.fixture(params=["file", "memory"])
async def store(
    request: pytest.FixtureRequest, file: Path, clock: ManualClock
) -> AsyncIterator[Store]:
    """An open store of each kind."""
    made = (
        MemoryStore(clock=clock)
        if request.param == "memory"
        else SqliteStore(file, clock=clock, durability="normal")
    )
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def on_file(file: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    """An open store in a file."""
    made = SqliteStore(file, clock=clock)
    await made.open()
    yield made
    await put_away(made, clock)
