"""Code of a task that blocks the loop is named with its actor, its step and its line."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from everstep import Actor, BadCall, Child, Event, Runtime, Supervisor, Task, step, supervise
from tests.supervisor.blocking import AFTER, PATIENCE, Heard, hearing, place_of, watchdogs

pytestmark = pytest.mark.real


class Report(Actor, name="blocked.Report"):
    """A flow that blocks the loop at the place that it is told."""

    said: ClassVar[threading.Event]

    where: str

    @step
    async def summarise(self) -> str:
        if self.where == "step":
            self.said.wait(PATIENCE)
        if self.where == "child":
            await asyncio.create_task(self.elsewhere(), name="elsewhere")
        return "text"

    async def elsewhere(self) -> None:
        self.said.wait(PATIENCE)

    @step
    async def publish(self) -> None: ...

    async def run(self) -> None:
        await self.summarise()
        if self.where == "run":
            self.said.wait(PATIENCE)
        await self.publish()


class Last(Actor, name="blocked.Last"):
    """A plan that blocks the loop in the step that ends it."""

    @step
    async def only(self) -> None:
        Report.said.wait(PATIENCE)


@pytest.fixture
def heard() -> Generator[Heard, None, None]:
    with hearing() as heard:
        Report.said = heard.first
        yield heard


async def blocked(task: Task[Any]) -> list[Event]:
    return [event async for event in task.events() if event.kind == "loop_blocked"]


async def test_a_step_is_named_with_task_actor_and_line_also_in_the_tasks_log(
    heard: Heard, tmp_path: Path
) -> None:
    async with Runtime(tmp_path / "tasks.db", blocked_after=AFTER) as runtime:
        task = await runtime.start(Report(where="step"), id="report-7")
        await task.result()
        (event,) = await blocked(task)

    place = place_of(inspect.unwrap(Report.summarise), "said.wait")
    who = "task report-7, actor blocked.Report, step summarise"
    assert f"by {who} at {place}" in heard.warnings[0]
    assert event.step == "summarise"
    assert event.data["place"].startswith(place)
    assert event.data["seconds"] >= AFTER


async def test_run_between_its_steps_is_named(heard: Heard) -> None:
    async with Runtime(":memory:", blocked_after=AFTER) as runtime:
        task = await runtime.start(Report(where="run"), id="report-7")
        await task.result()
        (event,) = await blocked(task)

    who = "task report-7, actor blocked.Report, its run, outside of steps"
    assert f"by {who} at {__file__}" in heard.warnings[0]
    assert event.step is None


async def test_a_child_task_of_a_step_is_traced_back_to_it(heard: Heard) -> None:
    async with Runtime(":memory:", blocked_after=AFTER) as runtime:
        task = await runtime.start(Report(where="child"), id="report-7")
        await task.result()

    place = place_of(Report.elsewhere, "said.wait")
    who = "task report-7, actor blocked.Report, step summarise"
    assert f"by {who} at {place}" in heard.warnings[0]


async def test_a_task_that_has_ended_gets_no_event_after_its_end(heard: Heard) -> None:
    async with Runtime(":memory:", blocked_after=AFTER) as runtime:
        task = await runtime.start(Last(), id="last")
        await task.result()
        kinds = [event.kind async for event in task.events()]

    assert "step only" in heard.warnings[0]
    assert kinds[-1] == "task_succeeded"


async def test_a_task_is_named_by_the_watchdog_of_a_tree_beside_it(heard: Heard) -> None:
    events: list[str] = []
    tree = Supervisor("root", children=[Child(asyncio.Event().wait, id="waits")])
    async with (
        Runtime(":memory:", blocked_after=None) as runtime,
        supervise(tree, blocked_after=AFTER, on_event=lambda event: events.append(str(event))),
    ):
        await (await runtime.start(Report(where="step"), id="report-7")).result()

    (told,) = [event for event in events if event.startswith("loop_blocked")]
    assert told.startswith("loop_blocked root the event loop was blocked for ")
    assert "by task report-7, actor blocked.Report, step summarise at " in told


async def test_the_thread_lives_as_long_as_the_runtime_and_none_switches_it_off() -> None:
    async with Runtime(":memory:"):
        assert len(watchdogs()) == 1
    assert watchdogs() == []

    async with Runtime(":memory:", blocked_after=None):
        assert watchdogs() == []


def test_what_is_no_number_of_seconds_is_refused() -> None:
    with pytest.raises(BadCall, match="blocked_after=5"):
        Runtime(":memory:", blocked_after=0)
