"""A service is restarted whatever exception has left it, and the log tells of it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from everstep import Child, Supervisor
from everstep.supervisor.services.exits import exit_of
from tests.actors.odd_exceptions import ODD, odd_exception

from .kit import Rig, timeless


@pytest.mark.parametrize("odd", ODD)
@timeless
async def test_whatever_exception_leaves_a_service_is_a_crash_of_that_alone(
    rig: Rig, caplog: pytest.LogCaptureFixture, odd: str
) -> None:
    async def child() -> None:
        rig.log.append("child")
        await asyncio.sleep(0)
        if rig.log.count("child") == 1:
            raise odd_exception(odd)
        await asyncio.Event().wait()

    tree = Supervisor("root", children=[rig.child("a"), Child(child, id="odd")])
    async with rig.run(tree):
        await rig.settle()

        assert rig.log == ["+a", "child", "child"]
    told = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert ["child_exited root/odd" in one.getMessage() for one in told] == [True]
    assert all(one.exc_text for one in told)


@pytest.mark.parametrize("odd", ODD)
@timeless
async def test_whatever_exception_leaves_the_body_the_tree_is_stopped(rig: Rig, odd: str) -> None:
    raised = odd_exception(odd)
    heard: BaseException | None = None
    try:
        async with rig.run(Supervisor("root", children=[rig.child("a")])):
            raise raised
    except BaseException as error:
        heard = error

    assert heard is raised
    assert rig.log == ["+a", "-a"]


def test_a_service_that_leaves_from_deep_within_groups_leaves() -> None:
    error: BaseException = KeyboardInterrupt()
    for _ in range(3000):
        beside: list[BaseException] = [error, ValueError()]
        error = BaseExceptionGroup("g", beside)

    assert exit_of(error, asked=False, who="root/odd").kind == "interrupt"
