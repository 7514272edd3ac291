"""What a look at a schedule leads to, compared with a model that lists every instant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everstep.storage import ScheduleRow
from everstep.supervisor.firings import (
    MOST_WAITING,
    ON_TIME,
    Overlap,
    declared,
    fire,
    instant_id,
    instants_of,
    keys_of,
    paused,
    resumed,
    started,
)
from everstep.supervisor.timetable import MOST_COUNTED, Beat, Cron


@dataclass(frozen=True)
class Listed:
    """A timetable with these instants."""

    all_of_them: list[int]

    def instants(self, after: float) -> Iterator[float]:
        return (float(at) for at in self.all_of_them if at > after)

    def counted(self, after: float, until: float) -> int:
        return sum(after < at <= until for at in self.all_of_them)


def schedule(next_at: float | None, **fields: Any) -> ScheduleRow:
    row = ScheduleRow(
        name="s",
        revision=1,
        cron=None,
        every=60,
        tz="UTC",
        anchor=0.0,
        overlap="skip",
        catch_up=0.0,
        actor="Report",
        given="g",
        version=1,
        state=b"{}",
        appends=None,
        pool="tasks",
        priority=0,
        lane=None,
        paused=0,
        paused_by=None,
        paused_why=None,
        next_at=next_at,
        fired_at=None,
        fired_task=None,
        waiting=None,
        started="[]",
        fired=0,
        skipped=0,
        missed=0,
        created_at=0.0,
        updated_at=0.0,
    )
    return row._replace(**fields)


@dataclass
class Model:
    """The rules, on lists."""

    undecided: list[int]
    overlap: str
    catch_up: float
    waiting: list[int] = field(default_factory=list[int])
    fired: list[int] = field(default_factory=list[int])
    replaced: int = 0
    skipped: int = 0
    missed: int = 0

    def look(self, now: float, busy: bool) -> None:
        passed = [at for at in self.undecided if at <= now]
        self.undecided = [at for at in self.undecided if at > now]
        fresh = [at for at in passed if now - at < max(self.catch_up, ON_TIME)]
        if self.overlap != "queue":
            fresh = fresh[-1:]
        self.missed += len(passed) - len(fresh)
        self.waiting += fresh
        if self.waiting and (self.overlap == "replace" or not busy):
            self.replaced += busy
            self.fired.append(self.waiting.pop(0))
        if self.overlap != "queue":
            self.skipped += len(self.waiting)
            self.waiting = []


LOOKS = st.lists(st.tuples(st.integers(-200, 900), st.booleans()), max_size=25)


@given(
    st.lists(st.integers(1, 4000), unique=True, min_size=1, max_size=60).map(sorted),
    st.sampled_from(get_args(Overlap)),
    st.sampled_from([0, 90, 600, 10_000]),
    LOOKS,
)
def test_every_instant_is_fired_once_or_waits_or_is_counted(
    instants: list[int], overlap: str, catch_up: int, looks: list[tuple[int, bool]]
) -> None:
    table, model = Listed(instants), Model(list(instants), overlap, catch_up)
    row = schedule(instants[0], overlap=overlap, catch_up=float(catch_up))
    now, fired, replaced = 0.0, list[float](), 0
    for passed, busy in looks:
        now += passed  # the clock may be set back
        model.look(now, busy)
        firing = fire(row, table, now, [7] if busy else [])
        if firing is None:
            continue
        row = firing.row
        replaced += firing.replaces
        if firing.instant is not None:
            fired.append(firing.instant)
            row = started(row, 8, "id", firing.instant)

    assert fired == model.fired == sorted(set(fired))
    assert instants_of(row) == model.waiting
    assert (row.fired, row.skipped, row.missed, replaced) == (
        len(fired),
        model.skipped,
        model.missed,
        model.replaced,
    )
    assert row.next_at == (model.undecided[0] if model.undecided else None)


def test_a_look_at_which_nothing_is_due_changes_nothing() -> None:
    assert fire(schedule(60.0), Beat(60, 0.0), 59.9, []) is None
    assert fire(schedule(None), Listed([]), 1e9, []) is None
    busy = schedule(120.0, overlap="queue", waiting="[60.0]")
    assert fire(busy, Beat(60, 0.0), 119.0, [7]) is None


def test_of_the_tasks_that_were_started_those_are_kept_that_have_not_ended() -> None:
    firing = fire(schedule(60.0, overlap="replace", started="[1, 2, 3]"), Beat(60, 0.0), 61, [2, 3])
    assert firing is not None and firing.replaces
    assert keys_of(started(firing.row, 9, "id", firing.instant)) == [2, 3, 9]


def test_what_waits_is_bounded_and_of_one_gap_the_newest_wait() -> None:
    row = schedule(1.0, overlap="queue", catch_up=1e6, every=1)
    idle = fire(row, Beat(1, 0.0), 1500.0, [])
    assert idle is not None
    assert idle.instant == 500.0
    assert instants_of(idle.row) == [*range(501, 1501)]
    assert idle.row.skipped == 499

    busy = fire(row._replace(waiting="[-1.0]"), Beat(1, 0.0), 1500.0, [7])
    assert busy is not None
    assert busy.instant is None
    assert instants_of(busy.row) == [-1, *range(502, 1501)]
    assert busy.row.skipped == 501


def test_what_waits_is_not_pushed_out_by_what_comes() -> None:
    full = json.dumps([*range(-MOST_WAITING, 0)])
    row = schedule(1.0, overlap="queue", waiting=full, every=1)
    busy = fire(row, Beat(1, 0.0), 2.0, [7])
    assert busy is not None
    assert (busy.row.waiting, busy.row.skipped) == (full, 2)

    idle = fire(row, Beat(1, 0.0), 2.0, [])
    assert idle is not None
    assert (idle.instant, idle.row.skipped) == (-MOST_WAITING, 1)
    assert instants_of(idle.row)[-2:] == [-1, 2]


@pytest.mark.parametrize("overlap", get_args(Overlap))
@pytest.mark.parametrize("catch_up", [0.0, 1e7])
def test_every_instant_of_a_beat_is_accounted_for_after_a_downtime_of_years(
    overlap: str, catch_up: float
) -> None:
    row = schedule(1.0, overlap=overlap, catch_up=catch_up, every=1)
    firing = fire(row, Beat(1, 0.0), 1e8, [])
    assert firing is not None and firing.instant is not None
    after = firing.row
    assert after.next_at == 1e8 + 1
    assert 1 + len(instants_of(after)) + after.skipped + after.missed == 1e8
    assert [firing.instant, *instants_of(after)][-1] == 1e8


MINUTES = Cron("* * * * *", ZoneInfo("UTC"))


@pytest.mark.parametrize("overlap", get_args(Overlap))
def test_of_a_cron_expression_so_many_are_counted_in_one_gap_and_the_newest_start(
    overlap: str,
) -> None:
    now = 60.0 * 45_000
    row = schedule(60.0, overlap=overlap, catch_up=60.0 * 20_000, every=None, cron="* * * * *")
    firing = fire(row, MINUTES, now, [])
    assert firing is not None and firing.instant is not None
    assert firing.too_old == 1 + MOST_COUNTED
    after = firing.row
    assert after.skipped + after.missed + 1 + len(instants_of(after)) == 1 + 2 * MOST_COUNTED
    assert [firing.instant, *instants_of(after)][-1] == now
    assert after.next_at == now + 60


def test_the_same_declaration_is_nothing_and_another_keeps_what_was_done() -> None:
    known = schedule(60.0, revision=5, fired=3, paused=1, waiting="[1.0, 2.0]", overlap="queue")
    asked = schedule(999.0, overlap="queue", updated_at=9.0)
    assert declared(known, asked, None) is None

    other = declared(known, asked._replace(state=b'{"a":1}'), None)
    assert other == known._replace(state=b'{"a":1}', updated_at=9.0)
    other = declared(known, asked._replace(every=50, anchor=949.0), None)
    assert other == known._replace(every=50, anchor=949.0, next_at=999.0, updated_at=9.0)
    other = declared(known, asked._replace(overlap="skip"), None)
    assert other == known._replace(overlap="skip", waiting=None, skipped=2, updated_at=9.0)


@pytest.mark.parametrize("overlap", get_args(Overlap))
@pytest.mark.parametrize(("now", "missed"), [(59.0, 2), (60.0, 3), (179.0, 4), (6000.0, 102)])
def test_what_is_due_when_other_times_are_declared_is_missed(
    now: float, missed: int, overlap: str
) -> None:
    known = schedule(60.0, overlap=overlap, missed=2)
    asked = known._replace(every=50, anchor=now, next_at=now + 50, updated_at=now)
    table = Beat(60, 0.0)

    assert declared(known, asked, table) == asked._replace(missed=missed)
    resting = known._replace(paused=1)
    assert declared(resting, asked, table) == asked._replace(paused=1)


def test_a_pause_ends_with_the_first_instant_after_it() -> None:
    row = paused(schedule(60.0), 50.0, "ann", "why")
    assert (row.paused, row.paused_by, row.paused_why, row.updated_at) == (1, "ann", "why", 50.0)
    assert resumed(row, Beat(60, 0.0), 250.0) == schedule(300.0, updated_at=250.0)


def test_an_id_is_made_of_the_name_and_the_instant_in_utc() -> None:
    assert instant_id("daily", 1_796_079_600.0) == "daily/2026-11-30T23:00:00Z"
