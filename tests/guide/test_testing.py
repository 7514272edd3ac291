"""How a user tests an actor: as a plain object, in memory, and on a file with a clock."""

from pathlib import Path

import pytest

from everstep import Runtime
from everstep.testing import ManualClock
from examples.guide import plan
from examples.guide.plan import Report


async def test_a_step_is_a_method() -> None:
    report = Report(topic="refunds", sources=["the law"])

    await report.summarise()

    assert report.summary == "the law"


async def test_a_task_in_memory() -> None:
    async with Runtime(":memory:") as runtime:
        task = await runtime.start(Report(topic="refunds"))

        assert (await task.result()).startswith("Report on refunds")


async def test_backoffs_take_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [ConnectionError("the model is overloaded")] * 4

    async def ask_model(sources: list[str]) -> str:
        if failures:
            raise failures.pop()
        return "the law"

    monkeypatch.setattr(plan, "ask_model", ask_model)
    clock = ManualClock()
    async with Runtime(tmp_path / "tasks.db", clock=clock) as runtime:
        task = await runtime.start(Report(topic="refunds"))
        async for event in task.events(follow=True):
            if event.kind == "step_failed":
                clock.advance(event.data["retry_in"])

        assert await task.result() == "Report on refunds: the law"
