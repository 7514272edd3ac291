"""A schedule, killed wherever it can be killed, loses no instant and fires none twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep.supervisor.firings import Overlap
from everstep.testing import Zygote, survive, survive_simulated
from tests.survival.scheduled import COUNT, scheduled
from tests.survival.strategies import LONG, REAL_BOUNDARIES, SIMULATED_CHAINS, tried

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if LONG else 300)]

SOUND = {"told": COUNT, "by hand": 1, "lost": 0}


@pytest.mark.real
def test_a_schedule_that_is_killed_fires_each_of_its_instants_once(
    zygote: Zygote, tmp_path: Path
) -> None:
    histories = survive(
        zygote,
        scheduled,
        tmp_path,
        1,
        0.2,
        "queue",
        boundaries=REAL_BOUNDARIES,
        chains=100 if LONG else 1,
    )

    assert histories[0].result == SOUND


@pytest.mark.parametrize(
    ("overlap", "nap"), [("skip", 90.0), ("replace", 90.0), ("queue", 90.0), ("queue", 0.0)]
)
def test_a_schedule_that_dies_at_every_boundary_accounts_for_each_of_its_instants(
    overlap: Overlap, nap: float
) -> None:
    histories = survive_simulated(
        *(scheduled, 60, nap, overlap), boundaries=tried(nap), chains=SIMULATED_CHAINS
    )

    assert histories[0].result == SOUND
