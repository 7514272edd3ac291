"""Actors with one field, whose type an edit of the class changes."""

from __future__ import annotations

import itertools
import types
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, model_validator

from everstep import Actor, Log, Retry, Runtime, Status, Task, handler, step
from everstep.actors.backoff import none
from tests.runtime.kit import Gate, next_event, until

__all__ = ["EDITS", "Flow", "Plan", "Serving", "begun", "grow", "made", "paused", "shown", "stored"]

F = TypeVar("F")
_NUMBERS = itertools.count(1)
"""Each class has a name of its own: of those that have the same, the newest counts."""
AT_ONCE = Retry(max_attempts=3, backoff=none())


class Old(BaseModel):
    a: int = 1


class Renamed(BaseModel, extra="forbid"):
    b: int


class Careless(BaseModel):
    """One whose own code fails on what is stored of the other."""

    b: int

    @model_validator(mode="before")
    @classmethod
    def _look(cls, data: Any) -> Any:
        return {"b": data["b"]}


EDITS: dict[str, tuple[Any, Any, Any]] = {
    "list": (list[int], [1], list[dict[str, int]]),
    "dict": (dict[str, int], {"a": 1}, dict[str, list[int]]),
    "model": (Old, Old(), Renamed),
    "validator": (Old, Old(), Careless),
    "log": (Log[int], Log([1]), Log[dict[str, int]]),
}
"""Of each kind of field: its type, a value, and the type that it has after the edit."""


def stored(kind: str) -> Any:
    """What an actor of this kind holds after its log, if it has one, was appended to."""
    return [1, 2] if kind == "log" else EDITS[kind][1]


def made(base: Any, kind: Any, name: str = "unreadable") -> Any:
    """The class of actors of this base with a field of this type."""
    module, own = {"__module__": __name__}, f"Made{next(_NUMBERS)}"
    return types.new_class(own, (base[kind],), {"name": name}, lambda body: body.update(module))


def is_log(value: Any) -> bool:
    """Whether it is a log, of whatever items."""
    return isinstance(value, Log)


def grow(actor: Any, item: int) -> None:
    """Append to the field of the actor where that is a log."""
    if is_log(actor.f):
        actor.f.append(item)


def shown(actor: Any, *more: int) -> str:
    """The field of the actor as text, by code that thinks it can go on from anything."""
    try:
        value = list(actor.f) if is_log(actor.f) else actor.f
    except Exception as error:
        return f"swallowed {type(error).__name__}"
    return repr((value, *more))


async def paused(task: Task[Any]) -> None:
    """Return when the task is paused as its state does not load, of which nothing was charged."""
    info = await until(task, lambda info: info.status is Status.PAUSED)
    assert info.reason == "state_unreadable"
    assert info.error is not None
    assert "StateUnreadable" in info.error.kind
    assert info.crashes == 0


class Flow(Actor, Generic[F]):
    """Waits for the word where to touch its field, and for one more."""

    f: F
    _first: str = ""

    async def run(self) -> str:
        await self.change()
        where = await self.ctx.receive(str)
        if where == "run":
            return shown(self)
        if where == "thread":
            return await self.look_in_a_thread()
        return await (self.above() if where == "below" else self.look())

    @step
    async def change(self) -> None:
        grow(self, 2)

    @step(retry=AT_ONCE)
    async def look(self) -> str:
        return shown(self)

    @step(retry=AT_ONCE)
    def look_in_a_thread(self) -> str:
        return shown(self)

    @step(retry=AT_ONCE)
    async def above(self) -> str:
        return await self.look()


class Plan(Actor, Generic[F]):
    """Touches its field in its second step, when that is let go on."""

    gate: ClassVar[Gate] = Gate()

    f: F

    @step
    async def one(self) -> None:
        grow(self, 2)

    @step(retry=AT_ONCE)
    async def two(self) -> str:
        await self.gate.stop_at("two")
        return shown(self)


class Serving(Actor, Generic[F]):
    """A server with one field."""

    f: F

    @handler
    async def keep(self, number: int) -> None:
        grow(self, number)

    @handler(retry=AT_ONCE)
    async def look(self, more: int) -> str:
        return shown(self, more)

    @handler(retry=AT_ONCE, readonly=True)
    async def look_beside(self) -> str:
        return shown(self)


async def begun(runtime: Runtime, actor: Any, value: Any) -> Task[Any]:
    """A flow that waits for its word."""
    task: Task[Any] = await runtime.start(actor(f=value), id="x")
    await next_event(task, "task_waiting")
    return task
