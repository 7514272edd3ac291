"""Flows whose steps run side by side, in loops and in chains."""

from __future__ import annotations

import asyncio
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.log import Log
from everstep.actors.step import step
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note
from tests.survival.host import to_end

__all__ = ["chains", "conflicting", "different", "keyed", "logging_side_by_side", "long_loop"]

TEN = tuple("abcdefghij")
_PATIENT = Restart(3, max_deaths=50)


async def _turns(name: str) -> None:
    """Let others go first: as many turns as the letter is early in the alphabet."""
    note("executed")
    for _ in range(ord("k") - ord(name[0])):
        await asyncio.sleep(0)
    boundary(f"in {name}")


async def _ended(life: Life, actor: Actor) -> dict[str, Any]:
    ended = await to_end(life, actor, restart=_PATIENT)
    return {name: ended[name] for name in ("status", "output", "state", "error")}


class Keyed(Actor):
    """Ten calls of one keyed step."""

    async def run(self) -> list[str]:
        return list(await asyncio.gather(*map(self.fetch, TEN)))

    @step(key="name")
    async def fetch(self, name: str) -> str:
        await _turns(name)
        return f"page {name}"


async def keyed(life: Life) -> dict[str, Any]:
    return await _ended(life, Keyed())


class Different(Actor):
    """Ten different steps, without keys."""

    async def run(self) -> list[str]:
        return list(await asyncio.gather(*(self.ctx.step(_turned, n, name=n) for n in TEN)))


async def _turned(name: str) -> str:
    await _turns(name)
    return f"turned {name}"


async def different(life: Life) -> dict[str, Any]:
    return await _ended(life, Different())


class Chains(Actor):
    """Ten chains of two keyed steps, the second on what the first returned."""

    seen: Log[str] = Log()

    async def run(self) -> list[str]:
        return list(await asyncio.gather(*map(self.chain, TEN)))

    async def chain(self, name: str) -> str:
        return await self.second(name, await self.first(name))

    @step(key="name")
    async def first(self, name: str) -> str:
        await _turns(name)
        return name.upper()

    @step(key="name")
    async def second(self, name: str, upper: str) -> str:
        await _turns(name)
        self.seen.append(name)
        return name + upper


async def chains(life: Life) -> dict[str, Any]:
    ended = await _ended(life, Chains())
    ended["state"]["seen"].sort()
    return ended


class LongLoop(Actor):
    """A loop of unkeyed calls of one step."""

    times: int
    total: int = 0

    async def run(self) -> int:
        for number in range(self.times):
            await self.add(number)
        return self.total

    @step
    async def add(self, number: int) -> int:
        note("executed")
        self.total += number
        return self.total


async def long_loop(life: Life, times: int) -> dict[str, Any]:
    return await _ended(life, LongLoop(times=times))


class Conflicting(Actor, name="survival.Conflicting"):
    """Two steps that overlap and change one field."""

    found: list[str] = []

    async def run(self) -> None:
        await asyncio.gather(self.put("a"), self.put("b"))

    @step(key="name")
    async def put(self, name: str) -> None:
        self.found.append(name)
        await _turns(name)


async def conflicting(life: Life) -> dict[str, Any]:
    ended = await _ended(life, Conflicting())
    return {"status": ended["status"], "conflict": "ConflictingChange" in str(ended["error"])}


class LoggingSideBySide(Actor):
    """Ten steps that overlap and append to one log."""

    found: Log[str] = Log()

    async def run(self) -> int:
        await asyncio.gather(*map(self.put, TEN))
        return len(self.found)

    @step(key="name")
    async def put(self, name: str) -> None:
        self.found.append(f"first {name}")
        await _turns(name)
        self.found.append(f"second {name}")


async def logging_side_by_side(life: Life) -> dict[str, Any]:
    ended = await _ended(life, LoggingSideBySide())
    log: list[str] = ended["state"]["found"]
    ended["together"] = all(
        log[place + 1] == f"second {log[place][-1]}" for place in range(0, len(log), 2)
    )
    log.sort()
    return ended
