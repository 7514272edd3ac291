"""The bank of the examples, whose tellers are killed at random."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from examples import bank
from tests.survival.strategies import LONG


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(5 if LONG else 1))
def test_the_bank_neither_loses_nor_makes_money(tmp_path: Path, seed: int) -> None:
    kills = 50 if LONG else 4

    found = bank.main(tmp_path / "bank.db", kills, random.Random(seed))

    assert found == bank.expected()
    assert sum(found.values()) == bank.START * len(bank.ACCOUNTS)
