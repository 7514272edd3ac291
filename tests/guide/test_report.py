"""examples/report.py shows what it says, with a real process that is really killed."""

import asyncio
from pathlib import Path

import pytest

from examples import report

TEXT = "最终报告: 退款规则；发票规则；地址修改规则"


async def test_a_step_that_fails_once_is_resumed_after_the_completed_ones(tmp_path: Path) -> None:
    story = await report.fail_and_resume(tmp_path / "tasks.db")

    assert story.after_the_failure == ["load_data"]
    assert story.at_the_end == ["load_data", "summarize", "write_report"]
    assert story.report == TEXT


async def test_the_log_of_step_events_tells_each_of_them_once(tmp_path: Path) -> None:
    story = await report.fail_and_resume(tmp_path / "tasks.db")

    assert story.step_events == [
        *("started", "completed"),
        *("started", "failed"),
        *("started", "completed"),
        *("started", "completed"),
    ]


@pytest.mark.real
def test_a_process_killed_between_the_effect_and_its_receipt_leaves_it_written_once(
    tmp_path: Path,
) -> None:
    report.kill_between_effect_and_receipt(tmp_path)
    before = report.lines_of(tmp_path / "archive.txt")

    text = asyncio.run(report.write_in(tmp_path))

    assert text == TEXT
    assert len(before) == 1
    assert report.lines_of(tmp_path / "archive.txt") == before
