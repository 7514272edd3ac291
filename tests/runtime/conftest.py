from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.kit import Gate, Place, Unsteady, Waiting


@pytest.fixture(params=["memory", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = Place(None if request.param == "memory" else tmp_path / "tasks.db")
    yield made
    made.discard()


@pytest.fixture
def gate() -> Gate:
    """The gate of `Waiting`, new for each test."""
    Waiting.gate = Gate()
    return Waiting.gate


@pytest.fixture(autouse=True)
def _calm() -> None:
    Unsteady.errors = []
