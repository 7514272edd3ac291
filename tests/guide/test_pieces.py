"""The smaller pieces of the guide do what the guide says of them."""

import asyncio
import logging
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from everstep import Actor, Runtime, Status, StepRecord, Task, TaskInfo, step
from everstep.testing import ManualClock
from examples.guide.chapters import Meter
from examples.guide.plan import start_all
from examples.guide.retries import PATIENT, Careful, Survey
from examples.guide.serve import Nightly
from examples.guide.verbs import Travel
from examples.guide.versions import OldTicket, Ticket
from tests.guide.pages import ROOT

# --- tasks -------------------------------------------------------------------------------------


async def test_many_reports_are_started_once_by_a_call_that_is_made_again(tmp_path: Path) -> None:
    topics = ["tea", "milk"]
    for _ in range(2):
        reports = await start_all(tmp_path / "tasks.db", topics)

        assert [report.split(":")[0] for report in reports] == ["Report on tea", "Report on milk"]
    async with Runtime(tmp_path / "tasks.db") as runtime:
        assert len(await runtime.tasks()) == 2


# --- attempts ---------------------------------------------------------------------------------


async def test_steps_beat_run_in_threads_and_send() -> None:
    async with Runtime(":memory:") as runtime:
        task = await runtime.start(Survey(topic="tea"))

        assert await task.result() == "tea ▁▃▅"


class Hopeless(Actor):
    executions: ClassVar[int] = 0

    @step
    async def fail(self) -> None:
        Hopeless.executions += 1
        raise ConnectionError("it never answers")


async def given_up(task: Task[Any], clock: ManualClock) -> TaskInfo:
    """Let time pass as the task asks for it, until it is given up."""
    async for event in task.events(follow=True):
        clock.advance(event.data.get("retry_in", event.data.get("delay", 0)))
        if event.kind in ("task_failed", "task_paused"):
            break
    return await task.status()


async def test_the_worst_case_of_a_step_is_three_attempts_in_each_of_four_lives() -> None:
    Hopeless.executions = 0
    clock = ManualClock()
    async with Runtime(":memory:", clock=clock) as runtime:
        info = await given_up(await runtime.start(Hopeless()), clock)

    assert (info.status, info.reason) == (Status.FAILED, "crashes")
    assert Hopeless.executions == 3 * (1 + 3)


async def test_a_pool_may_pause_what_it_gives_up() -> None:
    Hopeless.executions = 0
    clock = ManualClock()
    async with Runtime(":memory:", clock=clock, tree=PATIENT) as runtime:
        info = await given_up(await runtime.start(Hopeless()), clock)

    assert (info.status, info.reason) == (Status.PAUSED, "crashes")
    assert Hopeless.executions == 3 * (1 + 5)


async def test_a_flow_that_catches_the_failure_of_a_step_goes_on_otherwise() -> None:
    async with Runtime(":memory:") as runtime:
        task = await runtime.start(Careful(question="why"))

        assert await task.result() == "why, says the small model"
        big, small = await task.steps()
        assert (big.name, big.outcome, big.executions) == ("ask_big", "failed", 2)
        assert (small.name, small.outcome) == ("ask_small", "completed")


# --- the verbs of ctx -------------------------------------------------------------------------


async def test_the_verbs_are_recorded_like_steps(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "everstep.task"):
        async with Runtime(":memory:") as runtime:
            task = await runtime.start(Travel(), id="travel")

            assert (await task.result()).startswith("travel: ")
            kinds = [event.kind async for event in task.events()]
            steps = [done.identity for done in await task.steps()]

    assert "weather_known" in kinds and "booked" in kinds
    assert steps == ["ctx.now", "weather", "ctx.emit", "book"]
    assert "booking" in caplog.text


# --- chapters ---------------------------------------------------------------------------------


async def test_chapters_go_on_with_the_state_of_the_one_before() -> None:
    async with Runtime(":memory:") as runtime:
        task = await runtime.start(Meter(until=250))

        assert await task.result() == 250
        last = (await task.steps())[-1]
        assert last.identity == "@3/read#50"


# --- versions ---------------------------------------------------------------------------------


async def test_state_of_an_older_version_is_lifted_when_it_is_loaded(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "tasks.db", actors=[OldTicket], grace=0) as runtime:
        task = await runtime.start(OldTicket(topic="lost luggage"), id="ticket-1")
        await until_started(task, "answer")

    async with Runtime(tmp_path / "tasks.db", actors=[Ticket]) as runtime:
        assert await runtime.task("ticket-1").result() == "answer on lost luggage"


async def until_started(task: Task[Any], name: str, *, times: int = 1) -> None:
    async for event in task.events(follow=True):
        times -= event.kind == "step_started" and event.step == name
        if not times:
            return


# --- the end of a process ---------------------------------------------------------------------

SERVE = ROOT / "examples" / "guide" / "serve.py"
WITHOUT_RUN = "import asyncio, pathlib, serve; asyncio.run(serve.main(pathlib.Path({!r})))"


def ended_by(number: signal.Signals, *command: str) -> int:
    """Run a program until it computes, send it a signal; its return code."""
    with subprocess.Popen(
        [sys.executable, *command], cwd=SERVE.parent, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "computing\n"
        program.send_signal(number)
    return program.returncode


async def found(path: Path) -> TaskInfo:
    """What the next program finds, before the task goes on."""
    async with Runtime(path, actors=[]) as runtime:
        async for event in runtime.task("nightly").events(follow=True):
            if event.kind in ("task_released", "task_died"):
                break
        return await runtime.task("nightly").status()


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_everstep_run_turns_a_signal_into_an_orderly_stop(
    number: signal.Signals, tmp_path: Path
) -> None:
    path = tmp_path / "tasks.db"

    code = ended_by(number, str(SERVE), str(path))

    info = asyncio.run(found(path))
    assert code == (143 if number is signal.SIGTERM else -signal.SIGINT)
    assert (info.status, info.deaths) == (Status.QUEUED, 0)


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_without_it_a_signal_is_a_death(number: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"

    code = ended_by(number, "-c", WITHOUT_RUN.format(str(path)))

    info = asyncio.run(found(path))
    assert code == -number
    assert (info.status, info.deaths) == (Status.QUEUED, 1)


async def test_a_task_goes_on_after_a_stop_with_the_step_that_was_cut(tmp_path: Path) -> None:
    steps: list[StepRecord] = []
    for life in (1, 2):
        async with Runtime(tmp_path / "tasks.db", grace=0) as runtime:
            task = await runtime.start(Nightly(), id="nightly")
            await until_started(task, "compute", times=life)
            steps = await task.steps()

    assert [(one.name, one.executions, one.attempts) for one in steps] == [
        ("prepare", 1, 1),
        ("compute", 2, 0),
    ]
