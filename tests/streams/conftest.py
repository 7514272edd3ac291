from collections.abc import Iterator

import pytest

from tests.runtime.conftest import gate, place
from tests.runtime.kit import Gate
from tests.streams.talkers import Talker

__all__ = ["gate", "place"]


@pytest.fixture
def talk() -> Iterator[Gate]:
    """The gate of `Talker`, new for each test."""
    Talker.gate = Gate()
    Talker.failures = 0
    yield Talker.gate
    Talker.last = None
