"""`everstep tree FILE` lists the schedules of a stopped store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from everstep import Runtime
from everstep.testing import ManualClock
from tests.cli.kit import Chore, known, shown
from tests.schedules.kit import ended, set_to


async def scheduled(path: Path) -> None:
    clock = ManualClock()
    set_to(clock, "2026-11-29T22:00:00")
    async with Runtime(path, clock=clock) as runtime:
        chore = Chore(what="ends")
        await runtime.schedule("d", cron="0 7 * * *", actor=chore)
        beat = await runtime.schedule("beat", every=600, actor=chore)
        await (await runtime.schedule("off", every=60, actor=chore)).pause()
        clock.advance(600)
        await ended(runtime, beat, 1)


def test_schedules_are_listed_those_first_that_are_due_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(scheduled(tmp_path / "tasks.db"))

    drawn = shown(capsys, tmp_path / "tasks.db").partition("schedules:\n")[2].splitlines()
    facts = known(capsys, tmp_path / "tasks.db")["schedules"]

    assert [" ".join(line.split()) for line in drawn] == [
        "├─ beat every 600 s cli.Chore next at 2026-11-29 22:20:00Z 1 fired, 0 skipped, 0 missed",
        "├─ d 0 7 * * * (UTC) cli.Chore next at 2026-11-30 07:00:00Z 0 fired, 0 skipped, 0 missed",
        "└─ off every 60 s cli.Chore paused 0 fired, 0 skipped, 0 missed",
    ]
    assert [schedule["name"] for schedule in facts] == ["beat", "d", "off"]
