"""The design's table of counters, row by row."""

from typing import Any

import pytest

from everstep.actors.backoff import Jitter, fixed
from everstep.actors.exits import Crashed, Halted, Released
from everstep.actors.failures import Failure, read_failure
from everstep.storage.records import ENDED, Progress, Status
from everstep.supervisor import decisions
from everstep.supervisor.decisions import Decision
from everstep.supervisor.restart import Restart
from tests.supervisor.rows import progress

FAILURE = Failure("builtins.ValueError", "no")
CRASH = Crashed(FAILURE, never_retried=False)
COUNTERS = ("crashes", "deaths", "brushes", "deaths_total", "deaths_settled")


def all_but_one() -> float:
    return 1.0


def crash(before: Progress, restart: Restart, end: Crashed = CRASH) -> Decision:
    return decisions.after_crash(before, end, restart, now=50.0, chance=all_but_one)


def counters(of: Progress) -> tuple[Any, ...]:
    return tuple(getattr(of, name) for name in COUNTERS)


def kinds(decision: Decision) -> list[str]:
    return [told.kind for told in decision.events]


def test_a_crash_is_counted_and_queued_again_after_its_backoff() -> None:
    decision = crash(progress(crashes=1), Restart(3, backoff=fixed(8)))

    after = decision.progress
    assert (after.status, after.epoch, after.crashes) == (Status.QUEUED, None, 2)
    assert (after.crashed_at, after.generation) == (50.0, 1)
    assert decision.delay == 8.0
    assert kinds(decision) == ["task_crashed"]
    assert read_failure(after.error or b"") == FAILURE


@pytest.mark.parametrize(("jitter", "delay"), [("equal", 4.0), ("full", 2.0), ("none", 8.0)])
def test_the_backoff_of_a_crash_is_spread_as_its_jitter_says(jitter: Jitter, delay: float) -> None:
    restart = Restart(3, backoff=fixed(8), jitter=jitter)
    drawn = 0.25 if jitter == "full" else 0.0

    after = decisions.after_crash(progress(), CRASH, restart, now=0, chance=lambda: drawn)

    assert after.delay == delay


def test_without_a_backoff_a_crashed_task_is_due_at_once() -> None:
    assert crash(progress(), Restart(3)).delay is None


@pytest.mark.parametrize(
    ("on_give_up", "status", "kind"),
    [("fail", Status.FAILED, "task_failed"), ("pause", Status.PAUSED, "task_paused")],
)
def test_one_crash_more_than_max_restarts_is_given_up(
    on_give_up: Any, status: Status, kind: str
) -> None:
    restart = Restart(3, backoff=fixed(8), on_give_up=on_give_up)

    assert crash(progress(crashes=2), restart).progress.status is Status.QUEUED
    decision = crash(progress(crashes=3), restart)

    after = decision.progress
    assert (after.status, after.reason, after.epoch) == (status, "crashes", None)
    assert after.generation == 2
    assert decision.delay is None
    assert kinds(decision) == ["task_crashed", kind]


def test_an_error_that_is_never_retried_is_given_up_at_once() -> None:
    hopeless = Crashed(FAILURE, never_retried=True)

    after = crash(progress(), Restart(3), hopeless).progress

    assert (after.status, after.reason, after.crashes) == (Status.FAILED, "never_retried", 1)


def test_a_halt_pauses_and_charges_nothing() -> None:
    halted = Halted("replay_mismatch", FAILURE, "resume()")
    before = progress(crashes=2, deaths=1, due_at=9.0)

    decision = decisions.after_halt(before, halted)

    after = decision.progress
    assert (after.status, after.reason, after.epoch) == (Status.PAUSED, "replay_mismatch", None)
    assert (after.generation, after.due_at) == (2, None)
    assert counters(after) == counters(before)
    assert decision.events[0].data["remedy"] == "resume()"


def test_an_orderly_stop_gives_back_and_charges_nothing() -> None:
    before = progress(crashes=2, deaths=1, due_at=9.0, due_delay=3.0)

    decision = decisions.after_release(before, Released(severed=True, late=("1/load",)))

    after = decision.progress
    assert (after.status, after.epoch, after.generation) == (Status.QUEUED, None, 1)
    assert (after.due_at, after.due_delay) == (9.0, 3.0)
    assert counters(after) == counters(before)
    assert decision.events[0].data == {"late": ["1/load"], "severed": True}


@pytest.mark.parametrize(
    ("deaths", "alone", "expected"),
    [
        # deaths before, alone: deaths, brushes, status
        (0, False, (1, 0, Status.QUEUED)),
        (0, True, (1, 0, Status.QUEUED)),
        (1, False, (2, 0, Status.QUEUED)),
        (1, True, (2, 0, Status.QUEUED)),
        (2, False, (2, 1, Status.QUEUED)),
        (2, True, (3, 0, Status.FAILED)),
    ],
)
def test_only_a_task_that_was_alone_gets_its_last_death(
    deaths: int, alone: bool, expected: tuple[int, int, Status]
) -> None:
    before = progress(deaths=deaths, deaths_total=5, deaths_settled=4, crashes=1)

    after = decisions.after_death(before, Restart(), alone=alone).progress

    assert (after.deaths, after.brushes, after.status) == expected
    assert (after.deaths_total, after.deaths_settled, after.crashes) == (6, 4, 1)
    assert (after.epoch, after.death_epoch) == (None, 7)


def test_a_task_given_up_for_its_deaths_says_so() -> None:
    decision = decisions.after_death(progress(deaths=2), Restart(on_give_up="pause"), alone=True)

    assert (decision.progress.status, decision.progress.reason) == (Status.PAUSED, "deaths")
    assert kinds(decision) == ["task_died", "task_paused"]
    assert "died 3 times" in read_failure(decision.progress.error or b"").message


def test_a_death_counts_nothing_for_a_task_whose_steps_all_back_off() -> None:
    before = progress(deaths=2, due_at=9.0)

    decision = decisions.after_death(before, Restart(), alone=True)

    assert counters(decision.progress) == counters(before)
    assert decision.progress.status is Status.QUEUED
    assert decision.progress.due_at == 9.0
    assert kinds(decision) == ["task_released"]


def test_a_claim_begins_a_new_incarnation_in_this_epoch() -> None:
    before = progress(status=Status.QUEUED, epoch=None, incarnation=4, due_at=9.0, due_boot=1.0)

    decision = decisions.at_claim(before, epoch=8, now=50.0)

    after = decision.progress
    assert (after.status, after.epoch, after.incarnation) == (Status.RUNNING, 8, 5)
    assert (after.claimed_at, after.due_at, after.due_boot) == (50.0, None, None)
    assert counters(after) == counters(before)


@pytest.mark.parametrize("status", [*sorted(ENDED - {Status.SUCCEEDED}), Status.PAUSED])
def test_a_resume_opens_a_new_generation_with_fresh_budgets(status: Status) -> None:
    before = progress(
        status=status, epoch=None, crashes=3, deaths=3, brushes=2, deaths_total=7, reason="crashes"
    )

    decision = decisions.at_resume(before, by="ann", why=None)

    after = decision.progress
    assert (after.status, after.generation) == (Status.QUEUED, 2)
    assert counters(after) == (0, 0, 0, 7, 7)
    assert after.reason is None
    assert decision.events[0].data == {"from": str(status), "by": "ann"}


def test_a_cancel_ends_the_generation_and_charges_nothing() -> None:
    before = progress(crashes=2, deaths=1)

    after = decisions.at_cancel(before, by=None, why="obsolete").progress

    assert (after.status, after.generation, after.epoch) == (Status.CANCELLED, 2, None)
    assert counters(after) == counters(before)


def test_settling_an_effect_lets_go_on_only_a_task_that_was_paused_for_it() -> None:
    told = decisions.Told("effect_settled", {"key": "pay"})
    paused = progress(status=Status.PAUSED, epoch=None, reason="effect_unknown")
    other = progress(status=Status.PAUSED, epoch=None, reason="replay_mismatch")

    assert decisions.at_settle(paused, told).progress.status is Status.QUEUED
    assert decisions.at_settle(other, told).progress == other


def test_a_wait_that_is_over_queues_the_task_and_charges_nothing() -> None:
    before = progress(status=Status.WAITING, epoch=None, due_at=9.0, due_boot=1.0, due_delay=5.0)

    decision = decisions.at_wake(before)

    after = decision.progress
    assert (after.status, after.due_at, after.due_boot) == (Status.QUEUED, None, None)
    assert counters(after) == counters(before)
    assert kinds(decision) == ["task_woken"]


def test_a_task_that_waited_in_memory_is_given_back_due_at_once() -> None:
    waited = progress(status=Status.WAITING, due_at=9.0)

    after = decisions.after_release(waited, Released()).progress

    assert (after.status, after.due_at, after.epoch) == (Status.QUEUED, None, None)
    assert counters(after) == counters(waited)
