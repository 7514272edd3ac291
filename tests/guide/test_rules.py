"""What breaks a rule is refused, with the message that the guide shows."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from everstep import (
    Actor,
    BadActor,
    EverstepError,
    Log,
    NoRuntime,
    Runtime,
    StoreInUse,
    TaskExists,
    TaskFailed,
    TaskPaused,
    step,
)
from tests.guide.pages import says

GUIDE = "docs/guide.md"


async def failure_of(actor: Actor) -> str:
    """What the task's failure says of the error that was the reason."""
    async with Runtime(":memory:") as runtime:
        task = await runtime.start(actor)
        with pytest.raises(TaskFailed) as caught:
            await task.result()
    return f"{caught.value.error.rpartition('.')[2]}: {caught.value.message}"


# --- code between steps runs again ------------------------------------------------------------


class Order1(Actor, name="order"):
    async def run(self) -> None:
        await self.fetch("apples")
        await self.halt()

    @step
    async def fetch(self, what: str) -> str:
        return what

    @step
    async def halt(self) -> None:
        await asyncio.Event().wait()


class Order2(Actor, name="order"):
    async def run(self) -> None:
        await self.fetch("pears")
        await self.fetch("apples")
        await self.halt()

    @step
    async def fetch(self, what: str) -> str:
        return what

    @step
    async def halt(self) -> None: ...


async def test_other_arguments_for_a_finished_step_pause_the_task(tmp_path: Path) -> None:
    async with Runtime(tmp_path / "tasks.db", actors=[Order1], grace=0) as runtime:
        task = await runtime.start(Order1(), id="order-1")
        async for event in task.events(follow=True):
            if event.step == "halt":
                break

    async with Runtime(tmp_path / "tasks.db", actors=[Order2]) as runtime:
        with pytest.raises(TaskPaused) as caught:
            await runtime.task("order-1").result()

    assert caught.value.reason == "replay_mismatch"
    assert says(GUIDE, caught.value.message)


# --- calls that overlap -----------------------------------------------------------------------


class Ambiguous(Actor):
    async def run(self) -> None:
        await asyncio.gather(self.both("a"), self.both("b"))

    async def both(self, url: str) -> None:
        await asyncio.sleep(0)
        await self.fetch(url)

    @step
    async def fetch(self, url: str) -> str:
        await asyncio.sleep(0.01)
        return url


async def test_unkeyed_calls_from_two_tasks_are_refused() -> None:
    assert says(GUIDE, await failure_of(Ambiguous()))


class Conflicting(Actor):
    notes: list[str] = []

    async def run(self) -> None:
        await asyncio.gather(self.read("a"), self.read("b"))

    @step(key="page")
    async def read(self, page: str) -> None:
        await asyncio.sleep(0.01)
        self.notes.append(page)


async def test_overlapping_changes_of_one_field_are_refused() -> None:
    assert says(GUIDE, await failure_of(Conflicting()))


class Growing(Actor):
    notes: Log[str] = Log()

    async def run(self) -> int:
        await asyncio.gather(self.read("a"), self.read("b"))
        return len(self.notes)

    @step(key="page")
    async def read(self, page: str) -> None:
        await asyncio.sleep(0.01)
        self.notes.append(page)


async def test_overlapping_appends_to_a_log_are_not() -> None:
    async with Runtime(":memory:") as runtime:
        assert await (await runtime.start(Growing())).result() == 2


# --- values -----------------------------------------------------------------------------------


class Secretive(Actor):
    found: Any = None

    @step
    async def look(self) -> None:
        self.found = {1, 2, 3}


async def test_a_value_that_does_not_come_back_is_refused() -> None:
    assert says(GUIDE, await failure_of(Secretive()))


# --- effects ----------------------------------------------------------------------------------


class Twice(Actor):
    @step
    async def send(self) -> None:
        await self.ctx.once("mail", print_nothing, "one")
        await self.ctx.once("mail", print_nothing, "two")


async def print_nothing(text: str) -> None:
    """Stands for a side effect."""


async def test_a_key_is_used_once_in_an_attempt() -> None:
    assert says(GUIDE, await failure_of(Twice()))


# --- classes, handles, files ------------------------------------------------------------------


def test_a_name_of_the_base_class_is_refused_with_a_free_one() -> None:
    with pytest.raises(BadActor) as caught:

        class Broken(Actor):  # pyright: ignore[reportUnusedClass]  # it is never made
            @step
            async def copy(self) -> None:  # type: ignore[override]  # what is refused
                ...

    assert says(GUIDE, f"BadActor: {caught.value}")


def test_ctx_outside_a_runtime_says_so() -> None:
    with pytest.raises(NoRuntime) as caught:
        _ = Growing().ctx

    assert says(GUIDE, f"NoRuntime: {caught.value}")


async def test_an_id_belongs_to_one_start() -> None:
    async with Runtime(":memory:") as runtime:
        await runtime.start(Growing(), id="report-7")
        with pytest.raises(TaskExists) as caught:
            await runtime.start(Twice(), id="report-7")

    assert says(GUIDE, f"TaskExists: {caught.value}")


async def test_a_file_has_one_owner(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    async with Runtime(path):
        with pytest.raises(StoreInUse) as caught:
            await Runtime(path).__aenter__()

    assert isinstance(caught.value, EverstepError)
    assert says(GUIDE, caught.value.remedy)
