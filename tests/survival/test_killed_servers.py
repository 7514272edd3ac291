"""A bank whose accounts are servers, killed wherever it can be, neither loses nor makes money."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep.testing import Zygote, survive, survive_simulated
from tests.survival.banking import BALANCES, bank, standing_orders
from tests.survival.strategies import LONG, REAL_BOUNDARIES, REAL_CHAINS, SIMULATED_CHAINS, tried

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if LONG else 300)]


@pytest.mark.real
@pytest.mark.parametrize("idle_after", [60.0, 0.0], ids=["in memory", "out of memory"])
def test_a_bank_that_is_killed_loses_and_makes_no_money_and_repeats_its_replies(
    zygote: Zygote, tmp_path: Path, idle_after: float
) -> None:
    histories = survive(
        zygote,
        bank,
        tmp_path,
        idle_after,
        boundaries=REAL_BOUNDARIES,
        chains=REAL_CHAINS,
    )

    assert histories[0].result["balances"] == BALANCES


@pytest.mark.parametrize("idle_after", [20.0, 0.0])
def test_a_bank_that_dies_at_every_boundary_handles_every_request_once(idle_after: float) -> None:
    histories = survive_simulated(
        bank, idle_after, boundaries=tried(idle_after), chains=SIMULATED_CHAINS
    )

    assert histories[0].result["balances"] == BALANCES


HEARD = {
    "first": [130, "not enough money", 150],
    "second": [200, "not enough money"],
    "balances": {"ann": 50, "bob": 150, "cid": 0, "dan": 200, "charity": 105},
}


@pytest.mark.real
@pytest.mark.parametrize("idle_after", [60.0, 0.0], ids=["in memory", "out of memory"])
def test_flows_that_are_killed_while_they_ask_servers_hear_every_reply_once(
    zygote: Zygote, tmp_path: Path, idle_after: float
) -> None:
    histories = survive(
        zygote,
        standing_orders,
        tmp_path,
        idle_after,
        boundaries=REAL_BOUNDARIES,
        chains=REAL_CHAINS,
    )

    assert histories[0].result == HEARD


@pytest.mark.parametrize("idle_after", [20.0, 0.0])
def test_flows_that_die_at_every_boundary_while_they_ask_hear_every_reply_once(
    idle_after: float,
) -> None:
    histories = survive_simulated(
        standing_orders, idle_after, boundaries=tried(idle_after), chains=SIMULATED_CHAINS
    )

    assert histories[0].result == HEARD
