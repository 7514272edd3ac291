"""Code that was edited while its task was down: it goes on, or says what does not fit."""

from __future__ import annotations

import pytest

from everstep.testing import History, simulate
from everstep.testing.zygote import Scenario
from tests.survival.edited import dropped, gained_a_key, gained_steps, in_the_air, other_arguments


def dying_with(steps: int, scenario: Scenario, *args: str) -> History:
    """Die in the first life when so many steps have their checkpoint."""
    return dying_after("step_completed", steps, scenario, *args)


def dying_after(kind: str, times: int, scenario: Scenario, *args: str) -> History:
    """Die in the first life when an event of this kind is in the store so many times."""
    done = [
        entry.facts["number"]
        for entry in simulate(scenario, *args).trail
        if entry.kind == "boundary" and "after" in entry.name and kind in entry.name
    ]
    return simulate(scenario, *args, deaths=[done[times - 1]])


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize(
    ("where", "output"),
    [
        ("before", ["extra after 0", "one after 0", "two after 1", "three after 2"]),
        ("between", ["one after 0", "extra after 1", "two after 1", "three after 2"]),
        ("after", ["one after 0", "two after 1", "three after 2", "extra after 3"]),
    ],
)
def test_a_step_gained_at_any_place_runs_and_the_finished_ones_do_not(
    where: str, output: list[str], steps: int
) -> None:
    history = dying_with(steps, gained_steps, where)

    finished = [text for text in output if not text.startswith("extra")][:steps]
    assert history.result["status"] == "succeeded", str(history)
    assert [text for text in history.result["output"] if text in finished] == finished
    assert history.executions() == {"one": 1, "two": 1, "three": 1, "extra": 1}


def test_a_step_gained_before_finished_ones_sees_the_state_at_its_place() -> None:
    history = dying_with(3, gained_steps, "before")

    assert history.result["output"] == [
        "extra after 0",
        "one after 0",
        "two after 1",
        "three after 2",
    ]


def test_a_finished_step_that_nobody_asks_for_is_reported() -> None:
    history = dying_with(2, dropped)

    unused = [entry.facts["data"] for entry in history.trail if entry.name == "steps_unused"]
    assert history.result["status"] == "succeeded"
    assert unused == [{"steps": ["two"]}]


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_another_call_of_a_step_before_finished_ones_is_a_replay_mismatch(steps: int) -> None:
    history = dying_with(steps, other_arguments)

    result = history.result
    assert (result["status"], result["reason"]) == ("paused", "replay_mismatch"), str(history)
    for fact in ('url="new"', 'url="a"', '@step(key="url")'):
        assert fact in result["error"]
    assert not history.facts("executed", url="new")


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_step_that_gained_a_key_finds_its_old_checkpoints(steps: int) -> None:
    history = dying_with(steps, gained_a_key)

    assert history.result["status"] == "succeeded", str(history)
    assert history.result["output"] == ["page new", "page c", "page b", "page a"]
    done = "abc"[:steps]
    assert all(len(history.facts("executed", url=url)) == 1 for url in done)


def test_a_step_in_the_air_that_gained_a_key_finds_its_receipt() -> None:
    history = dying_after("effect_receipt", 1, in_the_air, "a key")

    assert history.result["output"] == ["paid b", "paid a"], str(history)
    assert len(history.facts("charged", what="a")) == 1


@pytest.mark.parametrize(
    ("edit", "reason"),
    [("another call first", "replay_mismatch"), ("another name", "effect_moved")],
)
def test_an_edit_that_would_mistake_an_effect_in_the_air_pauses_the_task(
    edit: str, reason: str
) -> None:
    history = dying_after("effect_receipt", 1, in_the_air, edit)

    assert (history.result["status"], history.result["reason"]) == ("paused", reason), str(history)
    assert [entry.facts["what"] for entry in history.facts("charged")] == ["a"]
