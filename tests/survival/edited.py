"""Flows whose code is edited between two lives: life 1 runs the old code, later ones the new."""

from __future__ import annotations

from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.step import step
from everstep.supervisor.restart import Restart
from everstep.testing import Life, note
from tests.survival.host import to_end

__all__ = ["dropped", "gained_a_key", "gained_steps", "in_the_air", "other_arguments"]

_PATIENT = Restart(0, max_deaths=50)


async def _edited(life: Life, old: Actor, new: Actor) -> dict[str, Any]:
    ended = await to_end(life, old if life.number == 1 else new, restart=_PATIENT)
    return {name: ended[name] for name in ("status", "reason", "output", "state", "error")}


class Steps(Actor, name="edited"):
    trace: list[str] = []

    @step
    async def one(self) -> str:
        return self.went("one")

    @step
    async def two(self) -> str:
        return self.went("two")

    @step
    async def three(self) -> str:
        return self.went("three")

    @step
    async def extra(self) -> str:
        return self.went("extra")

    def went(self, name: str) -> str:
        note("executed")
        self.trace.append(name)
        return f"{name} after {len(self.trace) - 1}"


class Old(Steps, name="edited"):
    async def run(self) -> list[str]:
        return [await self.one(), await self.two(), await self.three()]


class GainedBefore(Steps, name="edited"):
    async def run(self) -> list[str]:
        return [await self.extra(), await self.one(), await self.two(), await self.three()]


class GainedBetween(Steps, name="edited"):
    async def run(self) -> list[str]:
        return [await self.one(), await self.extra(), await self.two(), await self.three()]


class GainedAfter(Steps, name="edited"):
    async def run(self) -> list[str]:
        return [await self.one(), await self.two(), await self.three(), await self.extra()]


class Dropped(Steps, name="edited"):
    async def run(self) -> list[str]:
        return [await self.one(), await self.three()]


_GAINED: dict[str, type[Steps]] = {
    "before": GainedBefore,
    "between": GainedBetween,
    "after": GainedAfter,
}


async def gained_steps(life: Life, where: str) -> dict[str, Any]:
    return await _edited(life, Old(), _GAINED[where]())


async def dropped(life: Life) -> dict[str, Any]:
    return await _edited(life, Old(), Dropped())


class Fetches(Actor, name="fetches"):
    async def run(self) -> list[str]:
        return [await self.fetch("a"), await self.fetch("b"), await self.fetch("c")]

    @step
    async def fetch(self, url: str) -> str:
        note("executed", url=url)
        return f"page {url}"


class FetchesAnotherFirst(Fetches, name="fetches"):
    async def run(self) -> list[str]:
        return [await self.fetch("new"), *await super().run()]


async def other_arguments(life: Life) -> dict[str, Any]:
    return await _edited(life, Fetches(), FetchesAnotherFirst())


class FetchesByKey(Actor, name="fetches"):
    async def run(self) -> list[str]:
        return [await self.fetch(url) for url in ("new", "c", "b", "a")]

    @step(key="url")
    async def fetch(self, url: str) -> str:
        note("executed", url=url)
        return f"page {url}"


async def gained_a_key(life: Life) -> dict[str, Any]:
    return await _edited(life, Fetches(), FetchesByKey())


async def _charge(what: str) -> str:
    note("charged", what=what)
    return f"paid {what}"


class Pays(Actor, name="pays"):
    async def run(self) -> list[str]:
        return [await self.pay("a"), await self.pay("b")]

    @step
    async def pay(self, what: str) -> str:
        return await self.ctx.once("pay", _charge, what)


class PaysAnotherFirst(Pays, name="pays"):
    async def run(self) -> list[str]:
        return [await self.pay("new"), *await super().run()]


class PaysByKey(Actor, name="pays"):
    async def run(self) -> list[str]:
        return [await self.pay(what) for what in ("b", "a")]

    @step(key="what")
    async def pay(self, what: str) -> str:
        return await self.ctx.once("pay", _charge, what)


class PaysByAnotherName(Actor, name="pays"):
    async def run(self) -> list[str]:
        return [await self.settle("a"), await self.settle("b")]

    @step
    async def settle(self, what: str) -> str:
        return await self.ctx.once("pay", _charge, what)


_IN_THE_AIR: dict[str, type[Actor]] = {
    "another call first": PaysAnotherFirst,
    "a key": PaysByKey,
    "another name": PaysByAnotherName,
}


async def in_the_air(life: Life, edit: str) -> dict[str, Any]:
    return await _edited(life, Pays(), _IN_THE_AIR[edit]())
