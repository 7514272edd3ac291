"""The examples of the guide do what the guide says of them."""

import asyncio
from pathlib import Path

import pytest

from everstep import Runtime, TaskCancelled, TaskFailed, TaskPaused, WrongAnswer
from everstep.testing import ManualClock
from examples import agent, fan_out, schedule, server
from examples.guide import first, plan, side_by_side
from tests.schedules.kit import DAY, ended, set_to

# --- the README -------------------------------------------------------------------------------


def test_the_readme_s_program_prints_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    asyncio.run(first.main())

    assert capsys.readouterr().out == "sent 1 line\n"


# --- a plan -----------------------------------------------------------------------------------


def test_a_plan_can_be_looked_at_when_its_process_is_long_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(plan.main(tmp_path / "tasks.db"))
    asyncio.run(plan.look(tmp_path / "tasks.db"))

    assert capsys.readouterr().out.splitlines() == [
        "Report on refunds: refunds in the handbook and refunds in the law",
        "report-7 succeeded",
        "load completed 1",
        "summarise completed 1",
        "publish completed 1",
        "1 task_started ",
        "2 task_claimed ",
        "3 step_started load",
        "4 step_completed load",
        "5 step_started summarise",
        "6 step_completed summarise",
        "7 step_started publish",
        "8 step_completed publish",
        "9 task_succeeded ",
    ]


# --- an agent ---------------------------------------------------------------------------------


async def test_an_agent_uses_two_tools_at_once_and_remembers_both() -> None:
    async with Runtime(":memory:") as runtime:
        task = await runtime.start(agent.Agent(question="How warm is it?"))

        assert await task.result() == "It is -4 °C in Oslo and 19 °C in Rome."
        state = await task.state()
        assert isinstance(state, agent.Agent)
        roles = [message.role for message in state.messages]
        assert roles == ["user", "assistant", "tool", "tool", "assistant"]
        steps = {done.identity for done in await task.steps()}
        assert steps == {"think", "use:call-1", "use:call-2", "think#2"}


# --- side by side -----------------------------------------------------------------------------


def test_steps_side_by_side_go_on_with_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_by_side, "web", side_by_side.Web())

    first = asyncio.run(side_by_side.half(tmp_path / "tasks.db"))
    sizes = asyncio.run(side_by_side.rest(tmp_path / "tasks.db"))

    assert side_by_side.web.most == 10
    assert sizes == {url: len(url) for url in side_by_side.URLS}
    assert first < 100
    assert (
        100 <= len(side_by_side.web.asked) <= 100 + 10
    )  # at most those in the air are asked again


def test_children_that_fan_out_go_on_with_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fan_out, "translator", fan_out.Translator())

    first = asyncio.run(fan_out.half(tmp_path / "tasks.db"))
    texts = asyncio.run(fan_out.rest(tmp_path / "tasks.db"))

    assert fan_out.translator.most <= 1 + 4
    titles = ["Preface", *fan_out.TITLES, "Notes", "Index"]
    assert texts == [title.upper() for title in titles]
    assert first < len(titles)
    asked = len(fan_out.translator.asked)
    assert len(titles) <= asked <= len(titles) + 5  # at most those in the air are asked again


# --- a web application ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [(TaskFailed, 409), (TaskPaused, 409), (TaskCancelled, 409), (WrongAnswer, 422)],
)
def test_what_a_result_and_an_answer_raise_is_no_500(error: type[Exception], code: int) -> None:
    assert server.STATUS_CODES[error] == code
    assert error in server.app.exception_handlers


async def test_a_web_application_owns_its_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TASKS", str(tmp_path / "tasks.db"))
    monkeypatch.setattr(server, "PACE", 0)

    await server.check()

    said = capsys.readouterr().out.splitlines()
    answers = [line.partition(" -> ")[2] for line in said if " -> " in line]
    assert [answer[:3] for answer in answers] == ["202", "409", "404", "200", "202", "200"]
    assert answers[-1] == '200 "published: All about refunds."'
    ids = [line for line in said if line.startswith("id: ")]
    assert ids[0] == "id: 4" and '"kind": "task_succeeded"' in said[-2 if said[-1] else -3]


# --- schedules --------------------------------------------------------------------------------


async def test_a_report_is_written_on_the_mornings_of_working_days_in_shanghai() -> None:
    clock = ManualClock()
    set_to(clock, "2026-11-27T00:00:00")  # eight o'clock on a Friday in Shanghai
    async with Runtime(":memory:", clock=clock) as runtime:
        morning = await schedule.every_morning(runtime)
        clock.advance(3 * DAY)
        info = await ended(runtime, morning, 1)

        task = runtime.task(info.fired_task or "")
        assert await task.result() == "refunds as of 2026-11-29T23:00:00Z"
