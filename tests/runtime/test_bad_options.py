"""What `Runtime` refuses, and the line that it shows instead."""

from __future__ import annotations

from typing import Any

import pytest

from everstep import Actor, BadCall, Restart, Runtime, Status


class Idle(Actor, name="options.idle"):
    async def run(self) -> None: ...


@pytest.mark.parametrize(
    ("path", "options", "instead"),
    [
        (None, {}, 'Runtime("tasks.db")'),
        ("", {}, 'Runtime("tasks.db")'),
        ("x\0.db", {}, 'Runtime("tasks.db")'),
        ("x.db", {"tree": Restart(3)}, "tree=Pool(restart=Restart(3))"),
        ("x.db", {"actors": Idle}, "actors=[Report]"),
        ("x.db", {"actors": ["Idle"]}, "actors=[Report]"),
        ("x.db", {"grace": -1}, "grace=10"),
        ("x.db", {"wait": "5"}, "wait=10"),
        ("x.db", {"durability": "off"}, 'durability="full"'),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_with_what_to_write(
    path: Any, options: dict[str, Any], instead: str
) -> None:
    with pytest.raises(BadCall) as refused:
        Runtime(path, **options)

    assert instead in str(refused.value)


async def test_a_status_that_does_not_exist_is_refused() -> None:
    async with Runtime(":memory:") as runtime:
        assert await runtime.tasks(status=Status.PAUSED) == []
        with pytest.raises(BadCall, match="paused"):
            await runtime.tasks(status="stopped")  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("actor", [1, b"options.idle", int, "\ud800"])
async def test_what_is_neither_an_actor_nor_its_name_is_refused(actor: Any) -> None:
    async with Runtime(":memory:") as runtime:
        with pytest.raises(BadCall, match="actor="):
            await runtime.tasks(actor=actor)
        with pytest.raises(BadCall, match="actor="):
            runtime.events(actor=actor)


async def test_an_id_that_cannot_be_stored_is_refused_wherever_one_is_asked_for() -> None:
    async with Runtime(":memory:") as runtime:
        task = await runtime.start(Idle())
        for wrong in ("\ud800", 5):
            with pytest.raises(BadCall, match="after="):
                await runtime.tasks(after=wrong)  # type: ignore[arg-type]  # that is the point
            with pytest.raises(BadCall, match="parent="):
                await runtime.tasks(parent=wrong)  # type: ignore[arg-type]  # that is the point
        with pytest.raises(BadCall, match="question="):
            await task.answer("\ud800", True)
