"""State that does not load any more after an edit, and is found out when it is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from everstep import Actor, Log, StateUnreadable, Status, step, upcast
from tests.actors.unreadable_kit import EDITS, Flow, Plan, begun, grow, made, paused, shown, stored
from tests.runtime.kit import Gate, Place, kinds, until

F = TypeVar("F")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "tasks.db")


@pytest.mark.parametrize("where", ["run", "step", "thread", "below"])
@pytest.mark.parametrize("kind", EDITS)
async def test_a_touched_field_that_does_not_load_pauses_the_task_until_the_class_is_mended(
    place: Place, kind: str, where: str
) -> None:
    old, value, new = EDITS[kind]
    before, after = made(Flow, old), made(Flow, new)
    async with place.runtime(actors=[before]) as runtime:
        await begun(runtime, before, value)
    async with place.runtime(actors=[after]) as runtime:
        task = runtime.task("x")
        await task.send(where)
        await paused(task)
        assert not {"step_failed", "task_crashed"} & set(await kinds(task))
        state = await task.state(after)
        with pytest.raises(StateUnreadable):
            _ = list(state.f)
    async with place.runtime(actors=[before]) as runtime:
        task = runtime.task("x")
        assert await task.resume()
        assert await task.result() == repr((stored(kind),))


@pytest.mark.parametrize("kind", EDITS)
async def test_so_does_one_that_a_plan_touches(place: Place, kind: str) -> None:
    old, value, new = EDITS[kind]
    before, after = made(Plan, old), made(Plan, new)
    Plan.gate = Gate()
    async with place.runtime(actors=[before]) as runtime:
        await runtime.start(before(f=value), id="x")
        await Plan.gate.until("two")
    Plan.gate.open("two")
    async with place.runtime(actors=[after]) as runtime:
        task = runtime.task("x")
        await paused(task)
        assert "step_failed" not in await kinds(task)
        assert (await kinds(task))[-2:] == ["step_cut", "task_paused"]
    async with place.runtime(actors=[before]) as runtime:
        task = runtime.task("x")
        assert await task.resume()
        assert await task.result() == repr((stored(kind),))


class Early(Flow[F], Generic[F]):
    """Touches its field before anything else does."""

    def model_post_init(self, _: object, /) -> None:
        self._first = shown(self)


async def test_so_does_one_that_is_touched_when_the_task_is_loaded(place: Place) -> None:
    before, after = made(Early, list[int]), made(Early, list[dict[str, int]])
    async with place.runtime(actors=[before]) as runtime:
        await begun(runtime, before, [1])
    async with place.runtime(actors=[after]) as runtime:
        task = runtime.task("x")
        await task.send("run")
        await paused(task)
    async with place.runtime(actors=[before]) as runtime:
        assert await runtime.task("x").resume()
        assert await runtime.task("x").result() == "([1],)"


class Kid(Actor, name="unreadable.Kid"):
    async def run(self) -> str:
        return await self.ctx.receive(str)


class Parent(Actor, Generic[F]):
    """Starts a child, appends to its log, if it is one, and waits for a word."""

    f: F

    @step
    async def one(self) -> None:
        await self.ctx.start(Kid(), key="kid")
        grow(self, 5)

    async def run(self) -> str:
        await self.one()
        word = await self.ctx.receive(str)
        return f"{word} {self.f!r}"


class Gone(Actor, name="unreadable"):
    """The same without the log."""

    @step
    async def one(self) -> None: ...

    async def run(self) -> str:
        await self.one()
        return await self.ctx.receive(str)


class GoneWithItsStep(Actor, name="unreadable"):
    """The same without both."""

    async def run(self) -> str:
        return await self.ctx.receive(str)


class Changed(Gone, name="unreadable"):
    """It is a list now."""

    f: list[int] = []


class Lifted(Gone, name="unreadable", version=2):
    """It has another name now."""

    g: Log[int] = Log()

    @upcast(1)
    @staticmethod
    def rename(state: dict[str, Any]) -> dict[str, Any]:
        return {"g" if name == "f" else name: value for name, value in state.items()}


@pytest.mark.parametrize("after", [Gone, GoneWithItsStep, Changed, Lifted])
async def test_a_log_that_is_gone_pauses_the_task_and_leaves_its_children_alone(
    place: Place, after: type[Actor]
) -> None:
    before = made(Parent, Log[int])
    async with place.runtime(actors=[before, Kid]) as runtime:
        await begun(runtime, before, Log())
    async with place.runtime(actors=[after, Kid]) as runtime:
        task = runtime.task("x")
        await task.send("go")
        await paused(task)
        (kid,) = await runtime.tasks(parent="x")
        await runtime.task(kid.id).send("it goes on")
        assert await runtime.task(kid.id).result() == "it goes on"
    async with place.runtime(actors=[before, Kid]) as runtime:
        task = runtime.task("x")
        assert await task.resume()
        assert await task.result() == "go Log([5])"


class Widened(Actor, Generic[F]):
    """A step changes its field, which an edit allows no longer what it became."""

    f: F

    @step
    async def one(self) -> None:
        self.f = "x"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]  # it fits

    async def run(self) -> str:
        await self.one()
        return f"{await self.ctx.receive(str)} {self.f!r}"


async def test_what_a_step_changed_to_what_does_not_load_pauses_the_replay(place: Place) -> None:
    before, after = made(Widened, str | None), made(Widened, int | None)
    async with place.runtime(actors=[before]) as runtime:
        await begun(runtime, before, None)
    async with place.runtime(actors=[after]) as runtime:
        task = runtime.task("x")
        await task.send("go")
        await paused(task)
    async with place.runtime(actors=[before]) as runtime:
        task = runtime.task("x")
        assert await task.resume()
        assert await task.result() == "go 'x'"


class Setting(Actor, Generic[F]):
    """Puts another value in the place of one that it never looks at."""

    f: F

    @step
    async def change(self) -> None:
        self.f = {3}  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]  # it fits

    async def run(self) -> str:
        if await self.ctx.receive(str) == "go":
            await self.change()
        return repr(self.f)


async def test_a_field_that_does_not_load_may_be_replaced_untouched(place: Place) -> None:
    before, after = made(Setting, set[str]), made(Setting, set[int])
    async with place.runtime(actors=[before]) as runtime:
        await begun(runtime, before, {"a"})
    async with place.runtime(actors=[after]) as runtime:
        task = runtime.task("x")
        await task.send("go")
        assert (await until(task, lambda info: info.status is Status.SUCCEEDED)).crashes == 0
        assert await task.result() == "{3}"
