"""A runtime that could not be entered leaves nothing open behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from everstep import Actor, Runtime, UnknownActor, step


def defined(module: str) -> type[Actor]:
    """A class of one name, as if it were defined in this module."""

    class Twice(Actor, name="entering.Twice"):
        @step
        async def work(self) -> str:
            return "done"

    Twice.__module__ = module
    return Twice


async def test_two_classes_of_one_name_are_refused_and_the_file_stays_free(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    one, other = defined("one"), defined("other")

    with pytest.raises(UnknownActor, match="two classes have this name"):
        async with Runtime(path, actors=[one, other]):
            pytest.fail("it was entered")

    async with Runtime(path, actors=[one]) as runtime:
        assert await (await runtime.start(one())).result() == "done"


async def test_a_file_may_have_a_name_that_is_no_utf_8(tmp_path: Path) -> None:
    made = defined("names")
    path = tmp_path / "caf\udce9 50%?#.db"

    for number in range(2):
        async with Runtime(path, actors=[made]) as runtime:
            task = await runtime.start(made(), id=f"task-{number}")
            assert await task.result() == "done"
            assert len(await runtime.tasks()) == number + 1

    assert path.exists()
