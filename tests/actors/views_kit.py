"""An actor with fields of every kind, and views of its state without a runtime."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from everstep.actors.actor import Actor
from everstep.actors.definition import StepDefinition
from everstep.actors.errors import StateUnreadable
from everstep.actors.log import Log
from everstep.actors.schema import Frame, Schema
from everstep.actors.state import collect, frame_of, open_view, place
from everstep.actors.step import step


class Point(BaseModel):
    x: int
    tags: list[str] = []


class FakeCtx:
    task_id = "task-1"


class FakeAnchor:
    ctx: Any = FakeCtx()

    def call(self, definition: StepDefinition, args: Any, kwargs: Any) -> Any:
        raise AssertionError("no step is called here")

    def unreadable(self, error: StateUnreadable) -> BaseException:
        return error


class Report(Actor):
    topic: str = "t"
    count: int = 0
    score: float = 0.0
    items: list[int] = []
    tree: dict[str, list[int]] = {}
    point: Point = Point(x=1)
    tags: set[str] = set()
    when: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    maybe: Point | None = None
    notes: Log[str] = Log()
    points: Log[Point] = Log()

    @property
    def size(self) -> int:
        return len(self.items)

    @step
    async def load(self) -> None: ...


def opened(actor: Actor | None = None) -> Any:
    """A view on the state with which `actor` would start."""
    actor = actor or Report()
    schema = Schema.of(type(actor))
    fields, logs = schema.dump(actor)
    view = open_view(schema, schema.frame(fields), FakeAnchor(), family=None)
    place(view, {}, logs, -1, "start")
    return view


def below(above: Actor, frame: Frame | None = None) -> Any:
    """The view of a step that is called now."""
    frame = frame or frame_of(above)
    return open_view(Schema.of(type(above)), frame, FakeAnchor(), family=above)


def changes_of(view: Actor) -> dict[str, bytes]:
    return collect(view, owner="here").parts()[0]


FULL = Report(
    topic="x",
    items=[1, 2],
    tree={"a": [1]},
    point=Point(x=5, tags=["p"]),
    tags={"a"},
    maybe=Point(x=2),
    notes=Log(["n"]),
    points=Log([Point(x=7)]),
)
