"""Six reports run at once; their process is killed; another one goes on. Run it: make demo.

Nothing shown is made up: the workers are real processes, the kill is SIGKILL, what the store knew
is read from a copy of its file, and every execution of a step signs a list with its process id.
"""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from asyncio.subprocess import Process
from collections import Counter, defaultdict
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.live import Live
from rich.rule import Rule
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from everstep import Actor, Done, Log, NotDone, Retry, Runtime, Task, fixed, step

PACE = 0.15 if os.environ.get("EVERSTEP_EXAMPLE") == "check" else 0.7
"""Seconds that the model takes for one unit of thinking."""
REPORTS = {
    "refunds": 1.0,
    "invoices": 1.2,
    "addresses": 1.7,
    "returns": 2.1,
    "delivery": 3.0,
    "tax": 2.5,
}
"""What the six are about, and how much slower than the first each is."""
SOURCES = ("web", "faq", "law")
STEPS = (*(f"search:{source}" for source in SOURCES), "write", "review", "send")

Place = tuple[str, str]
"""A report, and a step of it."""


# --- the work: what a user of everstep writes -------------------------------------------------


class Report(Actor):
    topic: str
    folder: Path
    findings: Log[str] = Log()
    text: str = ""

    async def run(self) -> str:
        await asyncio.gather(*(self.search(source) for source in SOURCES))
        await self.write()
        await self.review()
        return await self.send()

    @step(key="source")
    async def search(self, source: str) -> None:
        self.sign(f"search:{source}")
        await self.think(0.4 + 0.35 * SOURCES.index(source))
        self.findings.append(f"what the {source} says about {self.topic}")

    @step
    async def write(self) -> None:
        self.sign("write")
        await self.think(1.0)
        self.text = "; ".join(self.findings)

    @step(retry=Retry(max_attempts=4, backoff=fixed(2.5 * PACE), jitter="none"))
    async def review(self) -> None:
        self.sign("review")
        await self.think(0.1)
        if self.topic == "invoices" and self.ctx.attempt < 3:
            raise ConnectionError("the model is overloaded")
        await self.think(0.8)

    @step
    async def send(self) -> str:
        self.sign("send")
        await self.think(0.1)
        operation = self.ctx.operation_id("letter")
        find = partial(find_letter, self.folder)
        return await self.ctx.once(
            "letter", post_letter, self.folder, self.topic, self.text, operation, probe=find
        )

    def sign(self, name: str) -> None:
        """Put on record, outside of everstep, that this process executes this step."""
        add_line(self.folder / "executions", f"{os.getpid()} {self.topic} {name}")

    async def think(self, seconds: float) -> None:
        await asyncio.sleep(seconds * PACE * REPORTS[self.topic])


async def post_letter(folder: Path, topic: str, text: str, operation: str) -> str:
    """The world outside: the letter is in the post at once, the answer takes its time."""
    add_line(folder / "letters", f"{operation} {topic}")
    tell(letter=topic)
    await asyncio.sleep(0.5 + PACE)
    return f"{len(text)} characters"


async def find_letter(folder: Path, operation: str) -> Done[str] | NotDone:
    """The probe: the post office knows every letter by its operation id."""
    known = [line.split()[0] for line in lines_of(folder / "letters")]
    return Done("found") if operation in known else NotDone()


def add_line(path: Path, line: str) -> None:
    with path.open("a") as lines:
        lines.write(f"{line}\n")


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


# --- a worker: both processes run this, and neither knows which one it is ---------------------


async def work(folder: Path) -> None:
    async with Runtime(folder / "tasks.db") as runtime, asyncio.TaskGroup() as followers:
        for topic in REPORTS:
            task = await runtime.start(Report(topic=topic, folder=folder), id=topic)
            followers.create_task(follow(task))


async def follow(task: Task[str]) -> None:
    async for event in task.events(follow=True):
        tell(task=task.id, number=event.number, kind=event.kind, step=event.step)


def tell(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


# --- the stage: what is known from the workers' events ----------------------------------------

PROCESSES = (("●", "cyan"), ("◆", "green"))
"""The mark and the colour of what the first and the second process did."""


def grid() -> Table:
    """A table with one row for each report and one column for each step."""
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column("report", min_width=10)
    for name in STEPS:
        table.add_column(name.removeprefix("search:"), justify="center", min_width=6)
    table.add_column("", min_width=9, style="dim")
    return table


class Stage:
    """The reports as they move."""

    def __init__(self) -> None:
        self.process = 0
        self.cells: dict[Place, Text | Spinner] = {}
        self.endings = dict.fromkeys(REPORTS, "")
        self.numbers: Counter[str] = Counter()
        self.spinners = [Spinner("dots", style=colour) for _, colour in PROCESSES]

    def take(self, told: dict[str, Any]) -> None:
        """Take in one event, unless it was seen before the kill."""
        task, kind, name = told["task"], told["kind"], told["step"]
        if told["number"] <= self.numbers[task]:
            return
        self.numbers[task] = told["number"]
        if kind == "step_started":
            self.cells[task, name] = self.spinners[self.process]
        elif kind == "step_completed":
            self.cells[task, name] = mark(self.process)
        elif kind == "step_failed":
            self.cells[task, name] = Text("failed", "yellow")
        elif kind in ("task_succeeded", "task_failed", "task_paused"):
            self.endings[task] = kind.removeprefix("task_")

    def kill(self) -> None:
        """Mark what was in the air; what comes is from the next process."""
        for place, cell in self.cells.items():
            if isinstance(cell, Spinner):
                self.cells[place] = Text("✗", "bold red")
        self.process = 1

    def __rich__(self) -> Table:
        table = grid()
        for topic in REPORTS:
            cells = [self.cells.get((topic, name), Text("·", "dim")) for name in STEPS]
            table.add_row(topic, *cells, self.endings[topic])
        return table


def mark(process: int) -> Text:
    return Text(*PROCESSES[process])


async def begin(folder: Path) -> Process:
    command = [sys.executable, __file__, "work", str(folder)]
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


async def watch(worker: Process, stage: Stage, *, kill: bool) -> None:
    """Show what a worker tells, to its end. With `kill`, kill it when a letter is in the post."""
    assert worker.stdout is not None
    async for line in worker.stdout:
        told = json.loads(line)
        if "task" in told:
            stage.take(told)
        elif kill:
            worker.kill()
    code = await worker.wait()
    if code != (-signal.SIGKILL if kill else 0):
        raise SystemExit(f"the worker ended with {code}")


# --- what the store knew ----------------------------------------------------------------------

QUERY = """
    SELECT id, status,
        (SELECT group_concat(identity) FROM step WHERE task = key_ AND outcome = 'completed'),
        (SELECT group_concat(identity) FROM step WHERE task = key_ AND open),
        (SELECT group_concat(identity || ' failed ' || attempts || '×, waits '
                || round(due_delay, 1) || ' s') FROM step
            WHERE task = key_ AND due_at IS NOT NULL AND outcome IS NULL AND NOT open),
        (SELECT group_concat(key || ': ' || state) FROM effect WHERE task = key_)
    FROM (SELECT key AS key_, id, status FROM task) ORDER BY key_
"""


class Known(NamedTuple):
    """What the file holds of one task."""

    task: str
    status: str
    checkpoints: str | None
    begun: str | None
    waiting: str | None
    effect: str | None

    def places(self) -> set[Place]:
        return {(self.task, name) for name in (self.checkpoints or "").split(",") if name}


def read_copy(folder: Path) -> list[Known]:
    """Read a copy of the file as the kill has left it, with nothing but SQLite."""
    copy = folder / "copy"
    copy.mkdir()
    for path in folder.glob("tasks.db*"):
        shutil.copy(path, copy)
    with closing(sqlite3.connect(copy / "tasks.db")) as connection:
        return [Known(*row) for row in connection.execute(QUERY)]


def knowledge(known: list[Known]) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for name in ("task", "status", "checkpoints", "in the air", "effect"):
        table.add_column(name, justify="right" if name == "checkpoints" else "left")
    for one in known:
        begun = Text((one.begun or "").replace(",", ", "), "red")
        waiting = Text(one.waiting or "", "yellow")
        effect = Text(one.effect or "", "bold red")
        table.add_row(one.task, one.status, str(len(one.places())), begun or waiting, effect)
    return table


# --- what can be counted afterwards -----------------------------------------------------------


def executions(folder: Path, pids: tuple[int, int]) -> dict[Place, list[int]]:
    """Which of the two processes have executed each step: 0 for the first, 1 for the second."""
    found: dict[Place, list[int]] = defaultdict(list)
    for line in lines_of(folder / "executions"):
        pid, topic, name = line.split()
        found[topic, name].append(pids.index(int(pid)))
    return found


def executed(found: dict[Place, list[int]]) -> Table:
    table = grid()
    for topic in REPORTS:
        cells = [Text(" ").join(map(mark, found[topic, name])) for name in STEPS]
        table.add_row(topic, *cells, "")
    return table


def verdict(folder: Path, known: list[Known], found: dict[Place, list[int]]) -> list[str]:
    """What was to be shown, counted."""
    kept = {place for one in known for place in one.places()}
    repeated = [place for place in kept if 1 in found[place]]
    others = [place for place in found if {0, 1} <= set(found[place])]
    letters = Counter(line.split()[1] for line in lines_of(folder / "letters"))
    if repeated or letters != Counter(REPORTS.keys()):
        raise SystemExit(f"this was not to happen: {repeated} ran again, {letters}")
    return [
        f"{len(kept)} steps had a checkpoint when the process died: none of them ran again.",
        f"{len(others)} steps were in the air, or had failed: these did.",
        f"{letters.total()} letters are in the post, one for each report.",
    ]


async def backoff_of(task: Task[str]) -> str:
    """How long after its failure a step was tried again."""
    reviews = [event async for event in task.events() if event.step == "review"]
    failed = next(place for place, event in enumerate(reviews) if event.kind == "step_failed")
    seconds = (reviews[failed + 1].at - reviews[failed].at).total_seconds()
    return f"{seconds:.1f} s after its failure, the review of {task.id} was tried again."


async def letter_of(task: Task[str]) -> str:
    """How it is known that the letter was sent."""
    (effect,) = await task.effects()
    return f"The letter about {task.id}: {effect.state}, by its {effect.decided_by or 'receipt'}."


async def log_of(task: Task[str]) -> Table:
    """The event log of one task, as everstep tells it."""
    table = Table(box=None, padding=(0, 1), show_header=False)
    began = (await task.status()).created_at
    async for event in task.events():
        facts = ", ".join(f"{name} {event.data[name]}" for name in SHOWN if name in event.data)
        table.add_row(
            Text(str(event.number), "dim"),
            Text(f"{(event.at - began).total_seconds():.2f} s", "dim"),
            Text(event.kind.replace("_", " "), LOUD.get(event.kind, "")),
            event.step,
            Text(facts, "dim"),
        )
    return table


SHOWN = ("attempt", "deaths", "incarnation", "key")
LOUD = {"task_died": "bold red", "step_died": "bold red", "task_succeeded": "bold green"}


# --- the play ---------------------------------------------------------------------------------


async def play(folder: Path, console: Console) -> None:
    stage = Stage()
    console.print("\n[bold]everstep[/]: six reports at once, each a task of six steps.")
    worker = await begin(folder)
    headline(console, f"process {worker.pid} begins", "cyan")
    with Live(stage, console=console, refresh_per_second=12):
        await watch(worker, stage, kill=True)
        stage.kill()
    posted = lines_of(folder / "letters")[0].split()[1]
    headline(console, f"kill -9 {worker.pid}", "red")
    console.print(f"The letter about {posted} is in the post, and nobody could note that it is.")
    known = read_copy(folder)
    headline(console, "what the store knew: a copy of its file, read with sqlite3")
    console.print(knowledge(known))

    other = await begin(folder)
    headline(console, f"process {other.pid} runs the same program", "green")
    with Live(stage, console=console, refresh_per_second=12):
        await watch(other, stage, kill=False)
    found = executions(folder, (worker.pid, other.pid))
    headline(console, "who executed what: the list that every step signs")
    console.print(executed(found), "", *verdict(folder, known, found), sep="\n")
    async with Runtime(folder / "tasks.db", actors=[Report]) as runtime:
        task = runtime.task(posted, Report)
        console.print(await letter_of(task))
        console.print(await backoff_of(runtime.task("invoices", Report)))
        headline(console, f"the event log of {posted}")
        console.print(
            await log_of(task), "\nThis was examples/demo.py; docs/guide.md begins gently."
        )


def headline(console: Console, text: str, colour: str = "default") -> None:
    console.print("", Rule(f"[bold {colour}]{text}[/]", align="left", style="dim"), "")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), Console()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        asyncio.run(work(Path(sys.argv[2])))
    else:
        main()
