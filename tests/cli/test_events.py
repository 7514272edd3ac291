"""`everstep events FILE` shows the log of a stopped store, as the runtime told it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from everstep import Actor, Event, Runtime, step
from everstep.cli import main


class Loud(Actor, name="cli.Loud"):
    """Emits more events than a page holds, one of which is no plain word."""

    @step
    async def talk(self) -> None:
        for number in range(2500):
            self.ctx.emit("said", number)
        self.ctx.emit("odd\x1b[2J", "\x1b")


def said(file: Path) -> list[Event]:
    """What a runtime told of a task that it ran."""

    async def run() -> list[Event]:
        async with Runtime(file) as runtime:
            await (await runtime.start(Loud(), id="loud")).result()
            return [event async for event in runtime.events()]

    return asyncio.run(run())


def shown(capsys: pytest.CaptureFixture[str], file: Path, *options: str) -> list[str]:
    assert main(["events", str(file), *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_log_of_a_stopped_store_is_what_its_runtime_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = said(tmp_path / "tasks.db")

    lines = shown(capsys, tmp_path / "tasks.db", "--json", "--limit", "9999")

    told = [json.loads(line) for line in lines]
    assert [one["position"] for one in told] == [event.position for event in events]
    assert [one["data"] for one in told] == [event.data for event in events]
    assert told[0]["at"] == events[0].at.isoformat()


def test_the_log_is_shown_in_pages_and_by_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tasks.db"
    events = said(file)

    first = shown(capsys, file)
    second = shown(capsys, file, "--after", first[-1].split()[0], "--limit", "5")
    ends = shown(capsys, file, "--kind", "task_succeeded", "--kind", "task_failed")

    assert len(first) == 1000 and len(second) == 5
    assert int(second[0].split()[0]) == int(first[-1].split()[0]) + 1
    assert len(ends) == 1 and f"{events[-1].position}  " in ends[0] and "  loud  " in ends[0]


def test_who_is_not_shown_all_is_told_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tasks.db"
    last = said(file)[-1].position

    assert main(["events", str(file), "--limit", "2"]) == 0
    first = capsys.readouterr()
    assert main(["events", str(file), "--after", f"{last - 1}"]) == 0

    after = first.out.splitlines()[-1].split()[0]
    assert first.err == f"everstep events: more events follow; go on with --after {after}\n"
    assert capsys.readouterr().err == ""


def test_who_asks_for_a_kind_that_never_was_is_told_those_that_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(tmp_path / "tasks.db")

    assert main(["events", str(tmp_path / "tasks.db"), "--kind", "step_faild"]) == 0

    found = capsys.readouterr()
    assert found.out == "" and found.err.startswith("everstep events: no such events; ")
    assert "said, " in found.err and "\x1b" not in found.err and found.err.count("\n") == 1


def test_the_log_of_one_task_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def run() -> None:
        async with Runtime(tmp_path / "tasks.db") as runtime:
            for name in ("a", "b"):
                await (await runtime.start(Loud(), id=name)).result()

    asyncio.run(run())
    options = ("--task", "b", "--limit", "9999")

    lines = shown(capsys, tmp_path / "tasks.db", *options)
    some = shown(
        capsys, tmp_path / "tasks.db", *options, "--after", lines[9].split()[0], "--kind", "said"
    )

    assert len(lines) > 2500 and all("  b  " in line for line in lines)
    assert some == [line for line in lines[10:] if "  said  " in line]
    assert main(["events", str(tmp_path / "tasks.db"), "--task", "c"]) == 2
    assert "no task" in capsys.readouterr().err


def test_what_would_move_a_terminal_is_written_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(tmp_path / "tasks.db")

    (odd,) = shown(capsys, tmp_path / "tasks.db", "--kind", "odd\x1b[2J")

    assert "\x1b" not in odd and '"odd\\u001b[2J"' in odd


@pytest.mark.parametrize("option", ["--after", "--limit"])
@pytest.mark.parametrize("number", ["-1", "x", "9" * 20])
def test_a_wrong_number_is_refused(
    capsys: pytest.CaptureFixture[str], option: str, number: str
) -> None:
    with pytest.raises(SystemExit):
        main(["events", "tasks.db", option, number])

    said = f"argument {option}: {number!r} is no whole number from 0 on"
    assert said in capsys.readouterr().err


def test_a_store_in_use_is_followed_in_its_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def look() -> None:
        async with Runtime(tmp_path / "tasks.db"):
            await asyncio.to_thread(main, ["events", str(tmp_path / "tasks.db")])

    asyncio.run(look())

    assert "runtime.events(follow=True)" in capsys.readouterr().err


def test_an_id_that_no_task_can_have_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tasks.db"
    said(file)

    assert main(["events", str(file), "--task", "\udcff"]) == 2
    assert "--task=" in capsys.readouterr().err
