"""Killed while it starts many tasks, a process leaves whole ones, and no gap between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep.testing import Zygote, survive, survive_simulated
from tests.survival.many_at_once import shipped
from tests.survival.strategies import LONG, REAL_BOUNDARIES, REAL_CHAINS, SIMULATED_CHAINS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if LONG else 300)]


@pytest.mark.real
def test_killed_while_it_starts_many_a_process_leaves_the_first_ones_whole(
    zygote: Zygote, tmp_path: Path
) -> None:
    histories = survive(
        zygote, shipped, tmp_path, boundaries=REAL_BOUNDARIES, chains=REAL_CHAINS, max_attempts=1000
    )

    assert histories[0].result["s"] == [1] * 8


def test_dying_anywhere_while_it_starts_many_a_process_leaves_the_first_ones_whole() -> None:
    histories = survive_simulated(shipped, chains=SIMULATED_CHAINS, max_attempts=1000)

    assert histories[0].passed >= 20
