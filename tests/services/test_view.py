"""A running tree as data, and drawn."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from everstep import (
    Child,
    DynamicSupervisor,
    NoProc,
    Restart,
    RunningSupervisor,
    Supervisor,
    exponential,
    fixed,
)
from everstep.supervisor.pool_info import PoolInfo
from everstep.supervisor.services.entries import ChildInfo, Ref
from everstep.supervisor.services.view import ChildView, SupervisorView, child_view

from .kit import Habit, Rig, timeless

TREE = """\
root       supervisor  up                             one_for_one, 3 restarts within 5 s
├─ a       worker      up since 2025-06-15 15:06:40Z  permanent
├─ inner   supervisor  up since 2025-06-15 15:06:40Z  rest_for_one, 9 restarts within 60 s, \
backoff fixed(4); 1 used
│  ├─ b    worker      up since 2025-06-15 15:06:40Z  transient
│  └─ c    worker      restarting, next in 4.0 s      transient; 1 failure in a row: Boom
└─ jobs    supervisor  up since 2025-06-15 15:06:40Z  dynamic, 3 restarts within 5 s
   └─ a#1  worker      up since 2025-06-15 15:06:40Z  permanent"""


def whole(rig: Rig) -> Supervisor:
    """A tree of each kind of child that needs no store."""
    policy = Restart(9, within=60, backoff=fixed(4))
    inner = rig.children("bc", restart="transient")
    return Supervisor(
        "root",
        children=[
            rig.child("a"),
            Supervisor("inner", strategy="rest_for_one", restart=policy, children=inner),
            DynamicSupervisor("jobs", extra_args=("secret",)),
        ],
    )


def known(running: RunningSupervisor, child: str) -> ChildView:
    return next(one for one in running.look().children if one.id == child)


@timeless
async def test_a_look_shows_what_each_child_does_and_since_when(rig: Rig) -> None:
    began = datetime.fromtimestamp(rig.clock.now(), UTC)
    async with rig.run(Supervisor("root", children=rig.children("ab"))) as running:
        await rig.clock.sleep(7)
        await rig.crash("b")

        a, b = running.look().children

        assert (a.id, a.kind, a.status, a.restart) == ("a", "worker", "up", "permanent")
        assert (a.incarnation, a.failures, a.last_error) == (1, 0, "")
        assert a.up_since is not None
        assert b.up_since is not None
        assert abs(a.up_since - began) < timedelta(milliseconds=1)
        assert abs(b.up_since - began - timedelta(seconds=7)) < timedelta(milliseconds=1)
        assert (b.incarnation, b.failures, b.last_error) == (3, 1, "Boom")
        assert running.look().restarts == 1


@timeless
async def test_a_look_shows_when_a_child_is_restarted(rig: Rig) -> None:
    policy = Restart(9, within=99, backoff=fixed(4))
    async with rig.run(Supervisor("root", restart=policy, children=rig.children("a"))) as running:
        await rig.crash("a")

        (a,) = running.look().children

        now = datetime.fromtimestamp(rig.clock.now(), UTC)
        assert (a.status, a.up_since) == ("restarting", None)
        assert a.restart_in == pytest.approx(4)
        assert a.restart_at is not None
        assert abs(a.restart_at - now - timedelta(seconds=4)) < timedelta(milliseconds=1)


@timeless
async def test_a_look_shows_the_settings_in_force(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("a"))) as running:
        await running.reconfigure(
            strategy="one_for_all",
            restart=Restart(7, within=60, backoff=exponential(1, maximum=9)),
        )

        view = running.look()

        assert (view.name, view.path, view.strategy) == ("root", "root", "one_for_all")
        assert view.restart == {
            "max_restarts": 7,
            "within": 60,
            "backoff": "exponential(1, factor=2, maximum=9)",
            "max_failures": None,
            "reset_after": 300.0,
        }


@timeless
async def test_what_is_below_a_supervisor_is_seen_while_it_runs(rig: Rig) -> None:
    async with rig.run(whole(rig)) as running:
        inner = known(running, "inner").supervisor
        assert inner is not None
        assert (inner.path, [child.id for child in inner.children]) == ("root/inner", ["b", "c"])

        await running.terminate_child("inner")

        assert known(running, "inner").status == "undefined"
        assert known(running, "inner").supervisor is None


@timeless
async def test_a_supervisor_that_has_just_ended_is_seen_without_children(rig: Rig) -> None:
    async with rig.run(whole(rig)) as running:
        running.supervisor("inner")._shell.kill()

        assert known(running, "inner").supervisor is None


@timeless
async def test_a_look_is_plain_data_without_what_children_gave_and_were_given(rig: Rig) -> None:
    async with rig.run(whole(rig)) as running:
        await running.supervisor("jobs").start_child(
            Child(_never, args=(object(),), restart="temporary")
        )

        text = json.dumps(asdict(running.look()), default=datetime.isoformat)

        assert "is ready" not in text
        assert "secret" not in text


async def _never(*_: object) -> None:
    """Returns at once."""


@timeless
async def test_a_look_at_a_tree_that_has_ended_is_refused(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("a"))) as running:
        pass

    with pytest.raises(NoProc):
        running.look()


@timeless
async def test_a_look_is_answered_while_children_stop(rig: Rig) -> None:
    children = [rig.child("a", Habit(cleanup=3), shutdown=9)]
    async with rig.run(Supervisor("root", children=children)) as running:
        rig.clock.call_later(1, lambda: seen.append(known(running, "a").status))
        seen: list[str] = []
        await running.terminate_child("a")

        assert seen == ["stopping"]


@timeless
async def test_a_tree_is_drawn_with_a_line_for_each_child(rig: Rig) -> None:
    async with rig.run(whole(rig)) as running:
        jobs = running.supervisor("jobs")
        await jobs.start_child(Child(_waits, args=(rig,), id="a"))
        await rig.crash("c")

        drawn = str(running.look())

        assert drawn == TREE


async def _waits(_: str, rig: Rig) -> None:
    await rig.clock.sleep(1e9)


POOL = PoolInfo(
    name="agents",
    running=3,
    max_running=12,
    lanes={None: 1, "north": 2},
    storm=None,
    crashes=0,
    starts=0,
    next_look=None,
    suspects=(),
)

INFO = ChildInfo(
    id="agents",
    status="up",
    kind="pool",
    restart="permanent",
    significant=False,
    incarnation=1,
    value=None,
    up_for=2.0,
    failures=0,
    restart_in=None,
    last_error="",
    ref=Ref("root", 1, "agents"),
)


def test_a_pool_is_shown_with_what_it_tells_of_itself() -> None:
    view = child_view(INFO, datetime(2026, 1, 1, tzinfo=UTC), None, POOL)

    data: dict[str, Any] = asdict(view)
    assert data["pool"]["running"] == 3
    assert data["pool"]["lanes"] == {None: 1, "north": 2}


def test_a_pool_is_drawn_with_its_numbers_in_words() -> None:
    pool = replace(POOL, storm=12.07, crashes=6, next_look=1.759, suspects=("a",))
    child = child_view(INFO, datetime(2026, 1, 1, tzinfo=UTC), None, pool)
    root = SupervisorView("root", "root", "one_for_one", False, None, {}, 0, "never", (child,))

    assert str(root).endswith(
        "running 3, max_running 12, storm for 12.1 s, crashes 6, starts 0, "
        "next look in 1.8 s, suspects 1"
    )
