"""A thread notices code that blocks the loop, and names whose code it is and which line."""

from __future__ import annotations

import asyncio
import collections
import itertools
import threading
from collections.abc import Generator
from typing import Any

import pytest

from everstep import (
    BadCall,
    Child,
    FailedToStartChild,
    SupervisionEvent,
    Supervisor,
    supervise,
)
from everstep.supervisor.culprit import Spot, blamed

from .blocking import AFTER, PATIENCE, Ear, Heard, hearing, place_of, poll, service, watchdogs

real = pytest.mark.real


@pytest.fixture
def heard() -> Generator[Heard, None, None]:
    with hearing() as heard:
        yield heard


# --- who is named -------------------------------------------------------------------------


@real
async def test_a_service_that_blocks_is_named_with_its_line_and_an_event_follows(
    heard: Heard,
) -> None:
    ear = Ear()
    async with supervise(service(poll, heard), on_event=ear, blocked_after=AFTER):
        event = await ear.blocked()

    warning, place = heard.warnings[0], place_of(poll, "PATIENCE")
    for text in (warning, event.reason):
        assert f"by service root/web/poller at {place}" in text
    assert "threading.py" in event.reason
    assert "first.wait(PATIENCE)  # blocks the loop" in warning
    assert (event.supervisor, event.child, event.expected) == ("root/web", "poller", False)


@real
async def test_a_child_task_of_a_service_is_traced_back_to_it(heard: Heard) -> None:
    async def parent() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(poll(heard))

    ear = Ear()
    async with supervise(service(parent), on_event=ear, blocked_after=AFTER):
        event = await ear.blocked()

    assert "by service root/web/poller at " in event.reason


@real
async def test_a_callback_of_a_service_is_traced_back_to_it(heard: Heard) -> None:
    async def parent() -> None:
        asyncio.get_running_loop().call_later(0.001, heard.wait)
        await asyncio.Event().wait()

    ear = Ear()
    async with supervise(service(parent), on_event=ear, blocked_after=AFTER):
        event = await ear.blocked()

    assert "by service root/web/poller at " in event.reason


@real
async def test_the_code_of_the_host_is_named_by_its_asyncio_task(heard: Heard) -> None:
    ear = Ear()
    async with supervise(Supervisor("root"), on_event=ear, blocked_after=AFTER):
        task = asyncio.create_task(poll(heard), name="a request")
        event = await ear.blocked()
        await task

    assert "by the asyncio task 'a request' at " in event.reason
    assert (event.supervisor, event.child) == ("root", "")


@real
async def test_a_listener_that_blocks_is_laid_to_the_supervisor_that_told_it(heard: Heard) -> None:
    ear = Ear()

    def listen(event: SupervisionEvent) -> None:
        ear(event)
        if event.kind == "supervisor_started":
            heard.first.wait(PATIENCE)

    async with supervise(Supervisor("root"), on_event=listen, blocked_after=AFTER):
        event = await ear.blocked()

    assert f"by supervisor root at {__file__}" in event.reason


@real
async def test_code_that_never_lets_go_of_the_interpreter_is_named_too(heard: Heard) -> None:
    async def hog() -> None:
        while not heard.warnings:
            collections.deque(itertools.repeat(None, 30_000_000), maxlen=0)

    ear = Ear()
    async with supervise(service(hog), on_event=ear, blocked_after=AFTER):
        event = await ear.blocked()

    assert f"by service root/web/poller at {__file__}" in event.reason


# --- how often it is said -----------------------------------------------------------------


@real
async def test_one_block_is_logged_at_growing_intervals_and_is_one_event(heard: Heard) -> None:
    async def stuck() -> None:
        heard.wait(3)

    ear = Ear()
    async with supervise(service(stuck), on_event=ear, blocked_after=AFTER):
        await ear.blocked()

    first, second, third = (seconds_in(warning) for warning in heard.warnings[:3])
    assert first >= AFTER
    assert 2 * first <= second + 0.02
    assert 2 * second <= third + 0.02
    assert len(ear.events) == 1
    assert seconds_in(ear.events[0].reason) >= third


@real
async def test_two_that_block_within_one_turn_of_the_loop_are_two_events(heard: Heard) -> None:
    async def one_after_the_other(turn: asyncio.Event) -> None:
        await turn.wait()
        heard.wait()

    turn, ear = asyncio.Event(), Ear()
    children = [
        Child(one_after_the_other, id=name, args=[turn], restart="temporary") for name in "ab"
    ]
    async with supervise(
        Supervisor("root", children=children), on_event=ear, blocked_after=AFTER
    ) as running:
        while running.count().active < 2:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        turn.set()
        await ear.blocked(2)

    assert [event.child for event in ear.events] == ["a", "b"]


def seconds_in(text: str) -> float:
    """The figure in `for 1.20 s`."""
    return float(text.partition("for ")[2].partition(" s")[0])


# --- which line is blamed -----------------------------------------------------------------

LIBRARY = "/opt/venv/lib/python3.11/site-packages"
STACKS = {
    "app.py:2": [
        Spot(threading.__file__, 1, "wait", "threading"),
        Spot("/srv/app.py", 2, "poll", "app"),
        Spot(f"{LIBRARY}/decorate/it.py", 3, "wrap", "decorate.it"),
    ],
    "mail.py:2": [  # the program itself is installed
        Spot(f"{LIBRARY}/httpx/client.py", 1, "get", "httpx.client"),
        Spot(f"{LIBRARY}/shop/mail.py", 2, "send", "shop.mail"),
        Spot(f"{LIBRARY}/shop/steps.py", 3, "publish", "shop.steps"),
    ],
    "time.py:1": [Spot(f"{LIBRARY}/other/time.py", 1, "f", "other.time")],
}


@pytest.mark.parametrize("line", STACKS)
def test_the_innermost_line_of_the_users_code_is_blamed(line: str) -> None:
    assert f"/{line} in" in str(blamed(STACKS[line]))


# --- its thread ---------------------------------------------------------------------------


@real
async def test_the_thread_is_gone_when_the_tree_is_left(heard: Heard) -> None:
    async with supervise(Supervisor("root"), blocked_after=AFTER):
        (thread,) = watchdogs()
        assert thread.daemon

    assert watchdogs() == []


@real
async def test_the_thread_is_gone_when_the_tree_does_not_start() -> None:
    async def fails(task_status: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(FailedToStartChild):
        async with supervise(Supervisor("root", children=[Child(fails)])):
            pass

    assert watchdogs() == []


async def test_none_switches_it_off() -> None:
    async with supervise(Supervisor("root"), blocked_after=None):
        assert watchdogs() == []


@pytest.mark.parametrize("seconds", [0, -1, "1", float("nan"), True, 10**400])
def test_what_is_no_number_of_seconds_is_refused(seconds: Any) -> None:
    with pytest.raises(BadCall, match="blocked_after=5"):
        supervise(Supervisor("root"), blocked_after=seconds)
