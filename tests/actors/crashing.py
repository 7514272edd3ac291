"""Actors and a crash between two lives, for tests of what is found again."""

from __future__ import annotations

from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.exits import Crashed
from everstep.actors.log import Log
from everstep.actors.step import step
from tests.actors.driver import Driver

__all__ = ["EXECUTED", "Tools", "crash_then"]

EXECUTED: list[str] = []
"""What steps were executed, in order. A test begins with an empty one."""


async def crash_then(driver: Driver, actor: Actor, later: type[Actor]) -> tuple[Any, Any]:
    """Crash one life of `actor`, live again as `later`: (ledger, how that ended)."""
    ledger = await driver.create(actor)
    ended = await driver.live(ledger, type(actor))
    assert isinstance(ended, Crashed), ended
    await driver.crash(ledger, ended)
    return ledger, await driver.again(ledger, later)


class Tools(Actor, name="replay.base"):
    """Steps for flows to call."""

    total: int = 0
    words: list[str] = []
    log: Log[str] = Log()

    @step
    async def add(self, number: int) -> int:
        EXECUTED.append(f"add {number}")
        self.total += number
        return number

    @step(key="word")
    async def say(self, word: str) -> str:
        EXECUTED.append(f"say {word}")
        self.log.append(word)
        return word.upper()
