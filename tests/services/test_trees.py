"""Supervisors under supervisors: escalation, handles, and who is told what."""

import asyncio
import logging
from typing import Any

import pytest

from everstep import (
    Child,
    FailedToStartChild,
    NoProc,
    NotFound,
    Restart,
    RestartLimitExceeded,
    SupervisionEvent,
    Supervisor,
    supervise,
)
from everstep.supervisor.services.events import EventStream

from .kit import Boom, Habit, Rig, states, timeless


def inner(rig: Rig, names: str, **options: Any) -> Supervisor:
    settings: dict[str, Any] = {"restart": Restart(0), **options}
    return Supervisor("inner", **settings, children=rig.children(names))


@pytest.mark.parametrize("restart_type", ["permanent", "transient"])
@timeless
async def test_a_supervisor_that_gave_up_is_started_again_by_its_own(
    rig: Rig, restart_type: Any
) -> None:
    tree = Supervisor("outer", children=[inner(rig, "a", restart_type=restart_type)])
    async with rig.run(tree) as running:
        before = running.supervisor("inner")
        await rig.crash("a")

        assert running.restarts() == 1
        assert states(running.supervisor("inner")) == {"a": "up"}
        assert "RestartLimitExceeded" in running.child("inner").last_error
        with pytest.raises(NoProc, match=r"running\.supervisor"):
            before.children()


@timeless
async def test_a_temporary_supervisor_that_gave_up_is_gone(rig: Rig) -> None:
    tree = Supervisor("outer", children=[inner(rig, "a", restart_type="temporary")])
    async with rig.run(tree) as running:
        await rig.crash("a")

        assert states(running) == {}


@timeless
async def test_a_transient_supervisor_that_was_stopped_in_order_stays_down(rig: Rig) -> None:
    tree = Supervisor("outer", children=[inner(rig, "a", restart_type="transient")])
    async with rig.run(tree) as running:
        await running.supervisor("inner").stop()
        await rig.settle()

        assert states(running) == {"inner": "undefined"}
        with pytest.raises(NoProc):
            running.supervisor("inner")
    ends = [event.reason for event in rig.events if event.kind == "supervisor_ended"]
    assert ends == ["normal", "shutdown"]


@timeless
async def test_a_restarted_supervisor_has_its_static_children_and_an_empty_history(
    rig: Rig,
) -> None:
    tree = Supervisor("outer", children=[inner(rig, "ab", restart=Restart(1))])
    async with rig.run(tree) as running:
        first = running.supervisor("inner")
        await first.start_child(rig.child("dyn"))
        await first.terminate_child("a")
        await first.delete_child("a")
        await rig.crash("b")
        await rig.crash("b")

        second = running.supervisor("inner")
        assert states(second) == {"a": "up", "b": "up"}
        assert second.restarts() == 0


@timeless
async def test_escalation_multiplies_the_budgets(rig: Rig) -> None:
    tree = Supervisor(
        "outer",
        restart=Restart(1, within=1000),
        children=[inner(rig, "a", restart=Restart(2, within=1000))],
    )

    with pytest.raises(RestartLimitExceeded, match="'outer' gives up"):
        async with rig.run(tree):
            for _ in range(100):
                await rig.crash("a")

    assert rig.lives["a"] == (2 + 1) * (1 + 1)


@timeless
async def test_a_group_of_supervisors_is_restarted_in_order(rig: Rig) -> None:
    children = [
        Supervisor(name, restart=Restart(0), children=rig.children(name[-1]))
        for name in ("s1", "s2", "s3")
    ]
    tree = Supervisor("outer", strategy="one_for_all", children=children)
    async with rig.run(tree) as running:
        await running.supervisor("s3").start_child(rig.child("dyn"))
        rig.took()
        await rig.crash("2")

        assert rig.took() == ["-dyn", "-3", "-1", "+1", "+2", "+3"]
        assert states(running.supervisor("s3")) == {"3": "up"}


@timeless
async def test_an_inner_child_that_does_not_start_takes_the_whole_start_back(rig: Rig) -> None:
    children: list[Any] = [rig.child("a"), inner(rig, "bcd"), rig.child("e")]
    rig.habits["d"].always = "fail"

    with pytest.raises(FailedToStartChild) as caught:
        async with rig.run(Supervisor("outer", children=children)):
            pass

    assert rig.log == ["+a", "+b", "+c", "!d", "-c", "-b", "-a"]
    assert caught.value.child == "inner"
    assert isinstance(caught.value.__cause__, FailedToStartChild)
    assert caught.value.__cause__.child == "d"


@timeless
async def test_an_inner_supervisor_that_hangs_at_its_start_stops_at_once(rig: Rig) -> None:
    hanging = Supervisor("inner", children=[rig.child("h", Habit(always="hang"))])
    async with rig.run(Supervisor("outer", children=rig.children("a"))) as running:
        starting = asyncio.ensure_future(running.start_child(hanging))
        await rig.settle()
        assert states(running) == {"a": "up", "inner": "starting"}
        stopping = asyncio.ensure_future(running.stop())
        await rig.settle()

        assert stopping.done()
        with pytest.raises(NoProc):
            await starting
    assert rig.clock.monotonic() < 1


@pytest.mark.parametrize("shutdown", [None, 0.2])
@timeless
async def test_a_supervisor_that_waits_for_a_start_is_terminated_at_once(
    rig: Rig, shutdown: float | None
) -> None:
    slow = rig.child("h", Habit(always="hang", hang=0.8))
    async with rig.run(Supervisor("outer", children=[inner(rig, "a", shutdown=shutdown)])) as outer:
        starting = asyncio.ensure_future(outer.supervisor("inner").start_child(slow))
        await rig.clock.sleep(0.05)
        await outer.terminate_child("inner")

        assert rig.log == ["+a", "!h", "-a"]
        assert rig.clock.monotonic() == pytest.approx(0.05)
        with pytest.raises(NoProc):
            await starting


@timeless
async def test_a_supervisor_is_killed_in_time_by_whatever_start_it_is_held_up(rig: Rig) -> None:
    async def deaf(*, task_status: object) -> None:
        while True:
            try:
                await rig.clock.sleep(1000)
            except asyncio.CancelledError:
                rig.log.append("swallowed")

    tree = Supervisor("outer", children=[inner(rig, "a", shutdown=0.2)])
    async with rig.run(tree) as outer:
        patient = Child(deaf, shutdown=None)
        starting = asyncio.ensure_future(outer.supervisor("inner").start_child(patient))
        await rig.settle()
        await outer.terminate_child("inner")

        assert rig.log == ["+a", "swallowed"]
        assert rig.clock.monotonic() == pytest.approx(0.2)
        with pytest.raises(NoProc):
            await starting


@timeless
async def test_a_child_that_terminates_its_own_supervisor_is_cancelled_at_that_call(
    rig: Rig,
) -> None:
    async def suicidal() -> None:
        await outer.terminate_child("inner")

    async with rig.run(Supervisor("outer", children=[inner(rig, "ab")])) as outer:
        await outer.supervisor("inner").start_child(Child(suicidal, shutdown=60))
        await rig.settle()

        assert states(outer) == {"inner": "undefined"}
        assert rig.log == ["+a", "+b", "-b", "-a"]
    assert rig.clock.monotonic() < 1


@timeless
async def test_names_of_supervisors_are_labels_that_trees_may_share(rig: Rig) -> None:
    one = Supervisor("root", children=[Supervisor("inner", children=rig.children("a"))])
    two = Supervisor("root", children=[Supervisor("inner", children=rig.children("b"))])
    async with rig.run(one) as first, rig.run(two) as second:
        await rig.crash("a")

        assert states(first.supervisor("inner")) == {"a": "up"}
        assert (first.supervisor("inner").restarts(), second.supervisor("inner").restarts()) == (
            1, 0,
        )  # fmt: skip


@timeless
async def test_an_inner_supervisor_over_its_time_is_killed_with_all_below(rig: Rig) -> None:
    stuck = [rig.child(name, Habit(stuck=True), shutdown=None) for name in "ab"]
    tree = Supervisor(
        "outer", children=[rig.child("z"), Supervisor("inner", shutdown=0.2, children=stuck)]
    )
    async with rig.run(tree) as running:
        rig.took()
        await running.terminate_child("inner")

        assert rig.clock.monotonic() == pytest.approx(0.2)
        assert rig.took() == ["-b"]
        assert states(running) == {"z": "up", "inner": "undefined"}


@timeless
async def test_a_brutal_supervisor_takes_its_children_along_without_cleanup(rig: Rig) -> None:
    tree = Supervisor(
        "outer", children=[Supervisor("inner", shutdown="brutal", children=rig.children("ab"))]
    )
    async with rig.run(tree):
        rig.took()

    assert rig.log == []


@timeless
async def test_handles_know_their_place_and_supervisors_are_found_by_id(rig: Rig) -> None:
    tree = Supervisor("outer", children=[inner(rig, "a"), rig.child("b")])
    async with rig.run(tree) as running:
        handle = running.supervisor("inner")
        assert (handle.name, handle.path) == ("inner", "outer/inner")
        assert repr(handle) == "<RunningSupervisor outer/inner running>"
        with pytest.raises(NotFound):
            running.supervisor("b")


@timeless
async def test_waiting_for_an_inner_supervisor_raises_what_it_ended_with(rig: Rig) -> None:
    async with rig.run(Supervisor("outer", children=[inner(rig, "a")])) as running:
        waiting = asyncio.ensure_future(running.supervisor("inner").wait())
        impatient = asyncio.ensure_future(running.supervisor("inner").wait())
        await rig.settle()
        impatient.cancel()
        await rig.crash("a")

        with pytest.raises(RestartLimitExceeded):
            await waiting
        assert states(running) == {"inner": "up"}


# --- reports --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("restart", "order", "reported"),
    [
        ("permanent", "end", True),
        ("permanent", "shutdown", True),
        ("permanent", "crash", True),
        ("transient", "end", False),
        ("transient", "shutdown", False),
        ("transient", "info", False),
        ("transient", "crash", True),
        ("transient", "cancel", True),
        ("temporary", "end", False),
        ("temporary", "info", False),
        ("temporary", "crash", True),
    ],
)
@timeless
async def test_exits_that_otp_reports_are_logged(
    rig: Rig, restart: Any, order: str, reported: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig.run(Supervisor("root", children=rig.children("a", restart=restart))):
        with caplog.at_level(logging.INFO, "everstep"):
            await rig.order(f"{order} a")

    assert bool(caplog.records) == reported
    assert all(record.exc_info for record in caplog.records if order in ("crash", "cancel"))
    assert ("child_exited a" in rig.kinds(unexpected=True)) == reported


@timeless
async def test_every_start_and_restart_is_an_event(rig: Rig) -> None:
    async with rig.run(Supervisor("root", children=rig.children("a"))):
        await rig.crash("a")

    assert rig.kinds() == [
        "child_started a",
        "supervisor_started",
        "child_exited a",
        "restart_scheduled a",
        "child_started a",
        "child_stopped a",
        "supervisor_ended",
    ]


@timeless
async def test_a_stream_tells_of_a_supervisor_and_all_below_until_it_ends(rig: Rig) -> None:
    heard: dict[str, list[SupervisionEvent]] = {"outer": [], "inner": []}

    async with rig.run(Supervisor("outer", children=[inner(rig, "a"), rig.child("b")])) as running:
        streams = {"outer": running.events(), "inner": running.supervisor("inner").events()}

        async def listen(name: str) -> None:
            heard[name].extend([event async for event in streams[name]])

        listening = [asyncio.ensure_future(listen(name)) for name in streams]
        await rig.crash("a")
    await asyncio.gather(*listening)

    assert [event.child for event in heard["inner"]] == ["a", "a", ""]
    assert {event.supervisor for event in heard["outer"]} == {"outer", "outer/inner"}
    assert heard["outer"][-1].kind == "supervisor_ended"
    crashed = heard["inner"][0]
    assert (crashed.kind, crashed.incarnation, type(crashed.error)) == ("child_exited", 1, Boom)
    assert crashed.at == pytest.approx(rig.clock.now(), abs=1)
    assert str(crashed) == "child_exited outer/inner/a #1 Boom"


@timeless
async def test_a_stream_that_nobody_reads_is_bounded_and_counts_what_it_lost(rig: Rig) -> None:
    stream = EventStream("root")
    event = SupervisionEvent("child_started", 0.0, "root", "a", 1, "", None, None, True)
    for _ in range(10_005):
        stream.put(event)
    stream.close()
    stream.put(event)

    assert len([event async for event in stream]) == 10_000
    assert stream.missed == 5


@pytest.mark.parametrize(
    "error", [ZeroDivisionError(), asyncio.CancelledError(), GeneratorExit(), BaseException()]
)
@timeless
async def test_a_listener_that_fails_breaks_nothing(
    rig: Rig, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    def broken(event: SupervisionEvent) -> None:
        raise error

    async with supervise(
        Supervisor("root", children=rig.children("a")), on_event=broken
    ) as running:
        assert states(running) == {"a": "up"}

    assert rig.log == ["+a", "-a"]
    assert "on_event failed" in caplog.text


@timeless
async def test_a_strangers_cancellation_of_an_inner_supervisor_is_a_crash(rig: Rig) -> None:
    async with rig.run(Supervisor("outer", children=[inner(rig, "ab")])) as running:
        rig.took()
        task = next(t for t in asyncio.all_tasks() if t.get_name().endswith("outer/inner"))
        task.cancel()
        await rig.settle()

        assert rig.took() == ["-b", "-a", "+a", "+b"]
        assert "nobody had asked" in running.child("inner").last_error


@timeless
async def test_a_plain_child_runs_beside_supervisors(rig: Rig) -> None:
    async def plain() -> None:
        rig.log.append("plain")
        await asyncio.Event().wait()

    async with rig.run(Supervisor("outer", children=[Child(plain), inner(rig, "a")])) as running:
        await rig.settle()
        assert running.count() == (2, 2, 1, 1)
    assert "plain" in rig.log
