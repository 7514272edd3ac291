"""A task of five steps with one effect each, killed wherever it can be killed, goes on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from everstep.testing import History, Zygote, survive, survive_simulated, violations
from everstep.testing.trail import FileTrail
from everstep.testing.zygote import Scenario, trail_of
from tests.survival.five import five_flow, five_plan, five_settled, many, outside
from tests.survival.strategies import LONG

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200 if LONG else 300)]

EACH = {"one": 1, "two": 1, "three": 1, "four": 1, "five": 1}
SHAPES = pytest.mark.parametrize("scenario", [five_plan, five_flow])
CHAINS = 500 if LONG else 10


def once_each(undisturbed: History, history: History) -> None:
    assert outside(history) == EACH


def at_least_once_each(undisturbed: History, history: History) -> None:
    counts = outside(history)
    assert counts.keys() == EACH.keys()
    assert sum(counts.values()) <= 5 + len(history.deaths)


@pytest.mark.real
@SHAPES
def test_killed_anywhere_with_a_probe_it_ends_alike_and_each_effect_happened_once(
    zygote: Zygote, tmp_path: Path, scenario: Scenario
) -> None:
    histories = survive(zygote, scenario, tmp_path, "probe", chains=CHAINS, check=once_each)

    assert histories[0].result["status"] == "succeeded"
    assert histories[0].passed >= 50


@pytest.mark.real
@SHAPES
def test_killed_anywhere_without_a_probe_an_effect_is_repeated_only_without_its_receipt(
    zygote: Zygote, tmp_path: Path, scenario: Scenario
) -> None:
    survive(
        zygote,
        scenario,
        tmp_path,
        "retry",
        boundaries=None if LONG else 12,
        chains=CHAINS,
        check=at_least_once_each,
    )


@pytest.mark.real
def test_a_crowd_killed_at_arbitrary_instants_loses_nothing(zygote: Zygote, tmp_path: Path) -> None:
    """Deaths in the middle of a write too: no boundary lies there."""
    path, count, chance = tmp_path / "tasks.db", 30, random.Random(7)
    outcomes = [
        zygote.run(many, path, count, life=life, kill_after=chance.uniform(0.02, 0.15))
        for life in range(1, 500 if LONG else 12)
    ]
    outcomes.append(zygote.run(many, path, count, life=len(outcomes) + 1))

    history = History(tuple(outcomes), (), tuple(FileTrail(trail_of(path))))
    assert history.result == [[f"receipt for {n} {what}" for what in EACH] for n in range(count)], (
        str(history)
    )
    assert sum(outcome.how == "killed" for outcome in outcomes) >= 3
    assert outside(history) == {f"{n} {what}": 1 for n in range(count) for what in EACH}
    assert not violations(history, max_attempts=1000)


@pytest.mark.real
def test_killed_between_intent_and_receipt_it_is_paused_and_settle_ends_it(
    zygote: Zygote, tmp_path: Path
) -> None:
    histories = survive(
        zygote, five_settled, tmp_path, boundaries=None if LONG else 24, chains=3, check=once_each
    )

    assert any(history.facts("settled") for history in histories)


def test_a_death_leaves_at_most_one_effect_to_be_settled() -> None:
    for history in survive_simulated(five_settled, chains=2000 if LONG else 30, check=once_each):
        assert len(history.facts("settled")) <= len(history.deaths), str(history)


@SHAPES
def test_chains_of_pretended_deaths_change_nothing_either(scenario: Scenario) -> None:
    survive_simulated(scenario, "probe", chains=5000 if LONG else 40, check=once_each)
