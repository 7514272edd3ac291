"""What `Runtime` refuses, and the line that it shows instead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
        ("x.db", {"blocked_after": 10**400}, "blocked_after=5"),
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


CALLS: dict[str, Callable[[Runtime, Any], Awaitable[object] | object]] = {
    "limit= of tasks": lambda runtime, wrong: runtime.tasks(limit=wrong),
    "limit= of inbox": lambda runtime, wrong: runtime.inbox(limit=wrong),
    "limit= of schedules": lambda runtime, wrong: runtime.schedules(limit=wrong),
    "after= of inbox": lambda runtime, wrong: runtime.inbox(after=wrong),
    "after= of schedules": lambda runtime, wrong: runtime.schedules(after=wrong),
    "status= of tasks": lambda runtime, wrong: runtime.tasks(status=wrong),
    "kind= of events": lambda runtime, wrong: runtime.events(kind=wrong),
    "pool= of start": lambda runtime, wrong: runtime.start(Idle(), pool=wrong),
    "actor= of task": lambda runtime, wrong: runtime.task("idle", wrong),
    "actor= of state": lambda runtime, wrong: runtime.task("idle").state(wrong),
    "mailbox= of Runtime": lambda _, wrong: Runtime(":memory:", mailbox=wrong),
}


async def called(call: str, runtime: Runtime, wrong: Any) -> None:
    answer = CALLS[call](runtime, wrong)
    if isinstance(answer, Awaitable):
        await answer


@pytest.mark.parametrize("wrong", [len, 5j, [1], 2**70, True, b"x"], ids=str)
@pytest.mark.parametrize("call", CALLS)
async def test_what_no_argument_can_be_is_refused_by_its_name(call: str, wrong: Any) -> None:
    async with Runtime(":memory:", actors=[Idle]) as runtime:
        await runtime.start(Idle(), id="idle")
        with pytest.raises(BadCall, match=f"^{call.partition(' ')[0]}.*; write "):
            await called(call, runtime, wrong)


@pytest.mark.parametrize("wrong", ["x", -1, 1.5, None])
async def test_what_is_no_number_of_rows_is_refused(wrong: Any) -> None:
    async with Runtime(":memory:") as runtime:
        for listed in (runtime.tasks, runtime.inbox, runtime.schedules):
            assert await listed(limit=0) == []
            with pytest.raises(BadCall, match=r"^limit=.*; write limit=100"):
                await listed(limit=wrong)
