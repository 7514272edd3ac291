"""Little flows as data: an actor that carries them out, and what must come out of them.

A flow is a list of chapters, a chapter a list of operations. `expected` says by plain Python
what the flow leaves, in whatever order its parallel steps run and however often it dies.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from everstep.actors.actor import Actor
from everstep.actors.backoff import fixed
from everstep.actors.effects import Done, NotDone
from everstep.actors.failures import StepFailed
from everstep.actors.log import Log
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note, noted
from tests.survival.host import living, standing, to_end

__all__ = [
    "MOST_ATTEMPTS",
    "Flow",
    "Gather",
    "Op",
    "Plain",
    "RandomFlow",
    "Work",
    "expected",
    "run_flow",
]


@dataclass(frozen=True)
class Work:
    """A call of a keyed step."""

    label: str
    fails: int = 0
    """In so many attempts it fails, after it has changed the state."""
    hopeless: bool = False
    """It fails for good, and `run` (or the step above) catches that and goes on."""
    adds: int = 0
    notes: bool = False
    """It appends its label to a list, deep inside a field."""
    logs: bool = False
    effect: Literal["", "probe", "retry"] = ""
    steps: tuple[Work, ...] = ()
    """Steps that it calls, one after the other."""
    lazy: bool = False
    wait: float = 0.0


@dataclass(frozen=True)
class Gather:
    """Steps side by side; of the state they touch the log only."""

    steps: tuple[Work, ...]


@dataclass(frozen=True)
class Plain:
    """Something in `run` itself."""

    what: Literal["add", "log", "draw", "count", "crash", "emit", "now", "sleep", "naps"]
    label: str


Op = Work | Gather | Plain


@dataclass(frozen=True)
class Flow:
    chapters: tuple[tuple[Op, ...], ...]


class Flaky(Exception):
    pass


class Hopeless(Exception):
    pass


_PATIENT = Restart(1000, max_deaths=1000)
MOST_ATTEMPTS = 30
_RETRY = Retry(MOST_ATTEMPTS, backoff=fixed(0.02), jitter="none", give_up_on=(Hopeless,))


async def _happen(label: str, operation: str, probed: bool) -> str:
    boundary(f"before the effect of {label}")
    note("effect", label=label, operation=operation, probed=probed)
    boundary(f"after the effect of {label}")
    return f"receipt of {label}"


async def _probe(operation: str) -> Done[str] | NotDone:
    happened = noted("effect", operation=operation)
    return Done(f"receipt of {happened[0].facts['label']}") if happened else NotDone()


_WORK = TypeAdapter(Work)


class RandomFlow(Actor):
    chapters: list[list[dict[str, Any]]]
    chapter: int = 0
    total: int = 0
    deep: dict[str, list[str]] = {"notes": []}
    log: Log[str] = Log()
    outputs: list[str] = []

    @step(key="label", retry=_RETRY)
    async def work(self, label: str, work: Work) -> str:
        return await self.do(label, work)

    @step(key="label", retry=_RETRY, checkpoint="lazy")
    async def lazily(self, label: str, work: Work) -> str:
        return await self.do(label, work)

    @step(retry=_RETRY)
    async def plain(self, label: str) -> str:
        note("executed")
        boundary(f"inside plain {label}")
        self.total += 1
        return f"plain {label}"

    @step(retry=_RETRY)
    async def kept(self, drawn: list[str]) -> list[str]:
        note("executed")
        return drawn

    async def run(self) -> list[str]:
        outputs = self.outputs
        for op in self.chapters[self.chapter]:
            outputs = [*outputs, *await self.carry_out(op)]
        self.outputs = outputs
        self.chapter += 1
        if self.chapter < len(self.chapters):
            return self.ctx.again()
        return self.outputs

    async def carry_out(self, op: dict[str, Any]) -> list[str]:
        match op["op"]:
            case "Work":
                return [await self.attempted(_WORK.validate_python(op["work"]))]
            case "Gather":
                steps = map(_WORK.validate_python, op["work"]["steps"])
                return list(await asyncio.gather(*map(self.attempted, steps)))
            case _:
                return await self.in_run(op["work"]["what"], op["work"]["label"])

    async def attempted(self, work: Work) -> str:
        try:
            if work.lazy:
                return await self.lazily(work.label, work)
            return await self.work(work.label, work)
        except StepFailed as error:
            if not error.is_a(Hopeless):
                raise
            return f"{work.label} failed"

    async def in_run(self, what: str, label: str) -> list[str]:
        match what:
            case "add":
                self.total += 1000
            case "log":
                self.log.append(f"run {label}")
            case "draw":
                drawn = [str(self.ctx.random()), str(self.ctx.uuid())]
                return [str(await self.kept(drawn) == drawn)]
            case "sleep":
                await self.ctx.sleep(7, key=label)
            case "naps":
                naps = (self.ctx.sleep(seconds, key=f"{label} {seconds}") for seconds in (5, 50))
                await asyncio.gather(*naps)
            case "now":
                now = self.ctx.now().isoformat()
                return [str(await self.kept([now]) == [now])]
            case "count":
                return [await self.plain(label)]
            case "emit":
                self.ctx.emit("passed", {"label": label})
            case _:
                _crash_once(label)
        return []

    async def do(self, label: str, work: Work) -> str:
        note("executed")
        boundary(f"inside {label}")
        if work.adds:
            self.total += work.adds
        if work.notes:
            self.deep["notes"].append(label)
        if work.logs:
            self.log.append(label)
        if work.wait:
            await asyncio.sleep(0)
        parts = [label]
        if work.effect:
            operation = self.ctx.operation_id("effect")
            probed = work.effect == "probe"
            probe = _probe if probed else None
            parts.append(
                await self.ctx.once(
                    "effect", _happen, label, operation, probed, probe=probe, on_unknown="retry"
                )
            )
        parts += [await self.attempted(inner) for inner in work.steps]
        if self.ctx.attempt <= work.fails:
            raise Flaky(label)
        if work.hopeless:
            raise Hopeless(label)
        return "(" + " ".join(parts) + ")"


# --- as data -----------------------------------------------------------------------------------


def _crash_once(label: str) -> None:
    if not noted("crash", label=label):
        note("crash", label=label)
        raise RuntimeError(f"run crashes once at {label}")


def _as_data(op: Op) -> dict[str, Any]:
    return {"op": type(op).__name__, "work": json.loads(json.dumps(asdict(op)))}


async def run_flow(life: Life, flow: Flow) -> dict[str, Any]:
    """The scenario: how the task stands in the end, without what is not fixed."""
    return _fixed(await to_end(life, _actor(flow), restart=_PATIENT))


async def run_flows(life: Life, flows: list[Flow]) -> list[dict[str, Any]]:
    """Several of them at once, each a task."""
    async with living(life, restart=_PATIENT) as runtime:
        tasks = [
            await runtime.start(_actor(flow), id=f"task-{place}")
            for place, flow in enumerate(flows)
        ]
        return [_fixed(await standing(task)) for task in tasks]


RICH = Flow(
    (
        (
            Work("a", adds=1, fails=2, notes=True, logs=True),
            Plain("draw", "drawn"),
            Gather(
                (
                    Work("b", logs=True, effect="probe"),
                    Work("c", logs=True, steps=(Work("d", logs=True), Work("e", hopeless=True))),
                    Work("f", fails=1, effect="retry"),
                )
            ),
            Plain("crash", "crashed"),
            Work("g", hopeless=True, adds=5),
        ),
        (
            Work("h", adds=2, lazy=True, effect="probe"),
            Plain("count", "counted"),
            Plain("add", "added"),
            Work("i", notes=True, lazy=True),
        ),
    )
)
"""Some of everything."""


async def rich_flow(life: Life) -> dict[str, Any]:
    return await run_flow(life, RICH)


def _actor(flow: Flow) -> RandomFlow:
    return RandomFlow(chapters=[[_as_data(op) for op in chapter] for chapter in flow.chapters])


def _fixed(ended: dict[str, Any]) -> dict[str, Any]:
    state = ended["state"]
    return {
        "status": ended["status"],
        "output": ended["output"],
        "total": state["total"],
        "notes": state["deep"]["notes"],
        "log": sorted(state["log"]),
    }


# --- what must come out ------------------------------------------------------------------------


class _Model:
    def __init__(self) -> None:
        self.total = 0
        self.notes: list[str] = []
        self.log: list[str] = []
        self.outputs: list[str] = []

    def work(self, work: Work) -> str:
        """A step that fails for good leaves nothing, and so do the steps below it."""
        if work.hopeless:
            return f"{work.label} failed"
        self.total += work.adds
        self.notes += [work.label] if work.notes else []
        self.log += [work.label] if work.logs else []
        receipt = [f"receipt of {work.label}"] if work.effect else []
        return "(" + " ".join([work.label, *receipt, *map(self.work, work.steps)]) + ")"

    def plain(self, op: Plain) -> None:
        match op.what:
            case "add":
                self.total += 1000
            case "log":
                self.log.append(f"run {op.label}")
            case "count":
                self.total += 1
                self.outputs.append(f"plain {op.label}")
            case "draw" | "now":
                self.outputs.append("True")
            case "crash" | "emit" | "sleep" | "naps":
                pass


def expected(flow: Flow) -> dict[str, Any]:
    """What `run_flow` must return."""
    model = _Model()
    for op in (op for chapter in flow.chapters for op in chapter):
        if isinstance(op, Plain):
            model.plain(op)
        else:
            steps = op.steps if isinstance(op, Gather) else (op,)
            model.outputs += [model.work(work) for work in steps]
    return {
        "status": "succeeded",
        "output": model.outputs,
        "total": model.total,
        "notes": model.notes,
        "log": sorted(model.log),
    }
