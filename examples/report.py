"""A report in three steps, told twice: a step that fails, and a process that is killed.

    python examples/report.py

First the model does not answer once: the task fails after one step, is resumed, and goes on with
the second. Then the process is killed between writing the report and noting that it is written:
the next process finds it written, and does not write it again.
"""

import asyncio
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from everstep import Actor, Done, NotDone, Pool, Restart, Retry, Runtime, Task, TaskFailed, step

ONE_ATTEMPT = Retry(max_attempts=1)
NO_RESTART = Pool(restart=Restart(0))


class Model:
    """Stands for a language model that fails to answer the first so many times."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures

    async def join(self, rules: list[str]) -> str:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the model does not answer")
        return "；".join(rules)


model = Model()


class Report(Actor):
    rules: list[str] = []
    summary: str = ""
    report: str = ""

    @step(retry=ONE_ATTEMPT)
    async def load_data(self) -> None:
        self.rules = ["退款规则", "发票规则", "地址修改规则"]

    @step(retry=ONE_ATTEMPT)
    async def summarize(self) -> None:
        self.summary = await model.join(self.rules)

    @step(retry=ONE_ATTEMPT)
    async def write_report(self) -> str:
        self.report = f"最终报告: {self.summary}"
        return self.report


# --- a step fails, the task is resumed ------------------------------------------------------


@dataclass(frozen=True)
class Story:
    """What was seen on the way."""

    after_the_failure: list[str]
    """The steps completed when the task had failed."""
    at_the_end: list[str]
    step_events: list[str]
    report: str


async def fail_and_resume(store: Path) -> Story:
    """Run the report with a model that fails once and nobody who retries."""
    model.failures = 1
    async with Runtime(store, tree=NO_RESTART) as runtime:
        task = await runtime.start(Report(), id="report-1")
        try:
            await task.result()
        except TaskFailed as failed:
            print(f"the task failed: {failed}")
        after_the_failure = await completed(task)

        await task.resume(by="an operator", why="the model answers again")
        report: str = await task.result()

        return Story(after_the_failure, await completed(task), await step_events(task), report)


async def completed(task: Task[str]) -> list[str]:
    """The names of the steps that have a checkpoint."""
    return [one.name for one in await task.steps() if one.outcome == "completed"]


async def step_events(task: Task[str]) -> list[str]:
    """The log in short: what happened to steps."""
    return [
        event.kind.removeprefix("step_")
        async for event in task.events()
        if event.kind.startswith("step_")
    ]


# --- the process is killed between an effect and its receipt --------------------------------


class WrittenReport(Report):
    """Its last step writes to the world outside: a line in a file that is not ours."""

    archive: Path

    @step
    async def write_report(self) -> str:
        return await self.ctx.once(
            "write",
            write_line,
            self.archive,
            f"最终报告: {self.summary}",
            self.ctx.operation_id("write"),
            probe=partial(find_line, self.archive),
        )


class Pen:
    """Whether the process goes on after it has written, or waits there to be killed."""

    stuck = False


async def write_line(archive: Path, text: str, operation: str) -> str:
    """The external side effect: append the report to the archive, under its operation id."""
    with archive.open("a") as lines:
        lines.write(f"{operation}\t{text}\n")
    if Pen.stuck:
        print("written", flush=True)
        await asyncio.Event().wait()
    return text


async def find_line(archive: Path, operation: str) -> Done[str] | NotDone:
    """The probe: asks the archive whether the operation has happened."""
    written = dict(line.split("\t") for line in lines_of(archive))
    return Done(written[operation]) if operation in written else NotDone()


def lines_of(archive: Path) -> list[str]:
    return archive.read_text().splitlines()


async def write_in(folder: Path) -> str:
    """Start the report, or go on with it: both processes run this."""
    async with Runtime(folder / "tasks.db") as runtime:
        task = await runtime.start(WrittenReport(archive=folder / "archive.txt"), id="report-1")
        text: str = await task.result()
        return text


def kill_between_effect_and_receipt(folder: Path) -> None:
    """Run the report in a child process, and kill that as soon as the report is written."""
    command = [sys.executable, __file__, "child", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "written\n"
        child.kill()


# --- the script -------------------------------------------------------------------------------


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        story = asyncio.run(fail_and_resume(folder / "failing.db"))
        print(f"completed after the failure: {', '.join(story.after_the_failure)}")
        print(f"completed at the end: {', '.join(story.at_the_end)}")
        print(f"step events: {', '.join(story.step_events)}")
        print(story.report)

        kill_between_effect_and_receipt(folder)
        print("\nthe process was killed after writing and before it could say so")
        report = asyncio.run(write_in(folder))
        print(f"the next process returns: {report}")
        print(f"lines in the archive: {len(lines_of(folder / 'archive.txt'))}")


def child(folder: Path) -> None:
    """The process that is killed."""
    Pen.stuck = True
    asyncio.run(write_in(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(Path(sys.argv[2]))
    else:
        main()
