"""The harness kills where it says, and tells what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from everstep.testing import (
    History,
    Zygote,
    live_through,
    simulate,
    some_of,
    survive,
    survive_simulated,
)
from everstep.testing.history import violations
from everstep.testing.trail import Entry
from everstep.testing.zygote import Scenario
from tests.testing.writes import blocks, leaves_things_behind, never_ends, three_tasks, wrong


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as zygote:
        yield zygote


pytestmark = pytest.mark.real


def test_an_undisturbed_life_passes_a_boundary_before_and_after_each_commit(
    zygote: Zygote, tmp_path: Path
) -> None:
    history = live_through(zygote, three_tasks, tmp_path / "tasks.db")

    assert history.result == ["one", "two", "three"]
    assert history.passed == 9
    assert [entry.name for entry in history.trail if entry.kind == "boundary"][:3] == [
        "about to write one",
        "before one: task_started",
        "after one: task_started",
    ]


@pytest.mark.parametrize(
    ("die_at", "durable"), [(1, []), (2, []), (3, ["one"]), (5, ["one"]), (6, ["one", "two"])]
)
def test_a_life_dies_at_its_boundary_and_leaves_what_was_durable(
    zygote: Zygote, tmp_path: Path, die_at: int, durable: list[str]
) -> None:
    history = live_through(zygote, three_tasks, tmp_path / "tasks.db", deaths=[die_at])

    killed = [entry for entry in history.trail if entry.life == 1]
    assert [outcome.how for outcome in history.outcomes] == ["killed", "ended"]
    assert [entry.facts["task"] for entry in killed if entry.kind == "durable"] == durable
    assert killed[-1].facts["number"] == die_at


def test_survival_is_shown_at_every_boundary_and_over_chains_of_deaths(
    zygote: Zygote, tmp_path: Path
) -> None:
    histories = survive(zygote, three_tasks, tmp_path, chains=3)

    assert len(histories) == 1 + 9 + 3
    assert all(history.result == ["one", "two", "three"] for history in histories)


def test_no_chain_of_deaths_is_lived_twice() -> None:
    histories = survive_simulated(three_tasks, chains=60)

    assert len(histories) == 1 + 9 + 60
    assert len({history.deaths for history in histories}) == len(histories)


def test_a_pretended_death_leaves_what_a_real_one_leaves() -> None:
    for die_at in range(1, 10):
        history = simulate(three_tasks, deaths=[die_at])

        assert [outcome.how for outcome in history.outcomes] == ["killed", "ended"]
        assert history.result == ["one", "two", "three"]
        assert len(history.facts("written")) in (2, 3)


def test_what_a_scenario_raises_is_told(zygote: Zygote, tmp_path: Path) -> None:
    outcome = zygote.run(wrong, tmp_path / "tasks.db", "such a thing")

    assert outcome.how == "failed"
    assert "ValueError: such a thing" in outcome.error


@pytest.mark.parametrize(("scenario", "place"), [(never_ends, "never_ends"), (blocks, "blocks")])
def test_a_life_that_hangs_is_ended_and_says_where(
    zygote: Zygote, tmp_path: Path, scenario: Scenario, place: str
) -> None:
    outcome = zygote.run(scenario, tmp_path / "tasks.db", timeout=0.3)

    assert outcome.how == "hung"
    assert place in outcome.error


def test_a_life_can_be_killed_at_any_instant(zygote: Zygote, tmp_path: Path) -> None:
    assert zygote.run(never_ends, tmp_path / "tasks.db", kill_after=0.05).how == "killed"


def test_what_goes_wrong_unseen_is_a_complaint(zygote: Zygote, tmp_path: Path) -> None:
    outcome = zygote.run(leaves_things_behind, tmp_path / "tasks.db")

    assert outcome.how == "ended"
    assert any("nobody looks at this" in complaint for complaint in outcome.complaints)
    assert "the thread forgotten was left behind" in outcome.complaints


def test_some_boundaries_are_spread_over_all() -> None:
    assert some_of(3, None) == [1, 2, 3]
    assert some_of(100, 4) == [1, 34, 67, 100]


def test_a_step_that_runs_again_after_its_checkpoint_is_a_violation() -> None:
    here = {"task": "t", "step": "load"}
    executed = Entry(1, "fact", "executed", here)
    trail = (executed, Entry(1, "durable", "step_completed", here), executed)

    assert len(violations(History((), (), trail))) == 1
    assert violations(History((), (), trail[:2])) == []


def test_an_effect_that_happens_again_after_its_receipt_is_a_violation() -> None:
    receipt = {"task": "t", "step": "load", "data": {"operation": "op"}}
    effect = Entry(1, "fact", "effect", {"operation": "op"})
    trail = (effect, Entry(1, "durable", "effect_receipt", receipt), effect)

    assert len(violations(History((), (), trail))) == 1


def test_more_executions_than_attempts_between_two_crashes_are_a_violation() -> None:
    executed = Entry(1, "fact", "executed", {"task": "t", "step": "load"})
    crashed = Entry(1, "durable", "task_crashed", {"task": "t"})

    assert (
        violations(History((), (), (executed, executed, crashed, executed)), max_attempts=2) == []
    )
    assert len(violations(History((), (), (executed,) * 3), max_attempts=2)) == 1
