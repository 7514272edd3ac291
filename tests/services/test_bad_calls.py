"""A call that makes no sense is declined to its caller, and harms nobody else."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from everstep import BadCall, Child, DynamicSupervisor, NotFound, Shutdown, Supervisor

from .kit import Boom, Rig, states, timeless


class Unreadable:
    """Shows itself to nobody."""

    def __repr__(self) -> str:
        raise Boom


@pytest.mark.parametrize("name", ["terminate_child", "restart_child", "delete_child"])
@pytest.mark.parametrize("child", [[], 7, None, Unreadable()], ids=["list", "7", "None", "bad"])
@timeless
async def test_what_is_no_id_finds_nobody(rig: Rig, name: str, child: Any) -> None:
    async with rig.run(Supervisor("root", children=rig.children("a"))) as running:
        with pytest.raises(NotFound):
            await getattr(running, name)(child)

        assert states(running) == {"a": "up"}


@pytest.mark.parametrize("name", ["child", "spec", "supervisor", "pool"])
@pytest.mark.parametrize("child", [[], 7, None, Unreadable()], ids=["list", "7", "None", "bad"])
@timeless
async def test_what_is_no_id_is_not_found_by_who_looks(rig: Rig, name: str, child: Any) -> None:
    async with rig.run(Supervisor("root", children=rig.children("a"))) as running:
        with pytest.raises(NotFound):
            getattr(running, name)(child)


@pytest.mark.parametrize("limit", [-1, 1.5, True, "3"])
@timeless
async def test_a_bad_limit_of_children_is_declined_and_the_old_one_stays(
    rig: Rig, limit: Any
) -> None:
    async with rig.run(DynamicSupervisor("root", max_children=1)) as running:
        with pytest.raises(BadCall, match="max_children=100, or None"):
            await running.reconfigure(max_children=limit)

        await running.start_child(rig.child("a"))
        assert running.count().active == 1


@pytest.mark.parametrize("arguments", [5, "abc", None])
@timeless
async def test_bad_extra_arguments_are_declined(rig: Rig, arguments: Any) -> None:
    async with rig.run(DynamicSupervisor("root")) as running:
        with pytest.raises(BadCall, match="extra_args"):
            await running.reconfigure(extra_args=arguments)

        await running.start_child(rig.child("a"))
        assert running.count().active == 1


@timeless
async def test_children_that_cannot_be_listed_are_the_callers_error(rig: Rig) -> None:
    def broken() -> Iterator[Child]:
        yield rig.child("b")
        raise Boom

    async with rig.run(Supervisor("root", children=rig.children("a"))) as running:
        with pytest.raises(Boom):
            await running.reconfigure(children=broken())

        assert states(running) == {"a": "up"}


@timeless
async def test_what_a_child_ends_with_may_be_unreadable(rig: Rig) -> None:
    async def child() -> None:
        await asyncio.sleep(0)
        raise Shutdown(Unreadable())

    plain = Child(child, id="a", restart="transient")
    async with rig.run(Supervisor("root", children=[plain, *rig.children("b")])) as running:
        await rig.settle()

        assert states(running) == {"a": "undefined", "b": "up"}
    ends = [event.reason for event in rig.events if event.kind == "child_exited"]
    assert ends == ["shutdown: <Unreadable>"]
