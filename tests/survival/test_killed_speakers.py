"""A step that writes to a stream, killed wherever it can be killed, is heard whole in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep.testing import Zygote, survive, survive_simulated
from tests.survival.speaking import SPOKEN, speak
from tests.survival.strategies import LONG, REAL_BOUNDARIES, REAL_CHAINS, SIMULATED_CHAINS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if LONG else 300)]


@pytest.mark.real
def test_a_stream_of_a_killed_process_goes_on_without_gap_or_repeat(
    zygote: Zygote, tmp_path: Path
) -> None:
    histories = survive(zygote, speak, tmp_path, boundaries=REAL_BOUNDARIES, chains=REAL_CHAINS)

    assert histories[0].result == SPOKEN


def test_a_stream_goes_on_without_gap_or_repeat_wherever_the_process_dies() -> None:
    histories = survive_simulated(speak, chains=SIMULATED_CHAINS)

    assert histories[0].result == SPOKEN
