"""Random requests to servers as data, and what must be replied to each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.failures import HandlerFailed
from everstep.actors.handler import handler
from everstep.actors.log import Log
from everstep.actors.retry import Retry
from everstep.runtime import Runtime
from everstep.supervisor.restart import Restart
from everstep.testing import Life, boundary, note, noted
from tests.survival.host import living

__all__ = ["SERVERS", "Request", "What", "ask_all", "replies"]

What = Literal["add", "log", "fail", "crash", "look", "pass on", "sleep", "repeat"]
SERVERS = ["one", "two", "three"]
_PATIENTLY = Retry(max_attempts=1000, backoff=none(), give_up_on=(ArithmeticError,))


@dataclass(frozen=True)
class Request:
    """What is asked next, and of whom; a repeat is one of the request with that number."""

    what: What
    whom: str = "one"
    number: int = 0
    other: str = "two"


class Counter(Actor, name="survival.Counter"):
    total: int = 0
    items: Log[int] = Log()

    @handler(retry=_PATIENTLY)
    async def add(self, number: int) -> int:
        note("executed")
        self.total += number
        boundary("added")
        return self.total

    @handler(retry=_PATIENTLY)
    async def log(self, number: int) -> list[int]:
        self.items.append(number)
        return list(self.items)

    @handler(retry=_PATIENTLY)
    async def fail(self, number: int) -> int:
        self.total += 1000
        self.items.append(number)
        boundary("about to fail")
        raise ArithmeticError(f"{number} of {self.total - 1000}")

    @handler(on_failure="crash", retry=Retry(max_attempts=1))
    async def crash(self, number: int) -> int:
        """Crashes the first time that it is executed in this test."""
        self.total += number
        note("crashing", place=number)
        boundary("about to crash")
        if len(noted("crashing", place=number)) == 1:
            raise OSError("not yet")
        return self.total

    @handler(readonly=True, retry=_PATIENTLY)
    async def look(self) -> tuple[int, list[int]]:
        boundary("looking")
        return self.total, list(self.items)

    @handler(retry=_PATIENTLY)
    async def pass_on(self, number: int, other: str) -> int:
        self.total -= number
        await self.ctx.get(Counter, other).tell(Counter.add, number)
        boundary("passed on")
        return self.total


async def ask_all(life: Life, requests: list[Request], idle_after: float) -> list[Any]:
    """Live it until all is replied; every life asks for everything, with the same ids."""
    restart = Restart(1000, max_deaths=1000)
    async with living(life, restart=restart, idle_after=idle_after) as runtime:
        heard: list[Any] = []
        for place, request in enumerate(requests):
            if request.what == "sleep":
                await life.clock.sleep(request.number)
                heard.append(None)
            elif request.what == "repeat":
                heard.append(await _reply(runtime, requests[request.number], request.number))
            else:
                heard.append(await _reply(runtime, request, place))
        return heard


async def _reply(runtime: Runtime, request: Request, place: int) -> Any:
    server, number, name = runtime.get(Counter, request.whom), request.number, f"r{place}"
    try:
        match request.what:
            case "pass on":
                other = request.other
                return await server.ask(Counter.pass_on, number, other, request_id=name)
            case "look":
                return list(await server.ask(Counter.look, request_id=name))
            case "log":
                return await server.ask(Counter.log, number, request_id=name)
            case _:
                method = {"add": Counter.add, "fail": Counter.fail, "crash": Counter.crash}
                return await server.ask(method[request.what], number, request_id=name)
    except HandlerFailed as failed:
        return failed.failure.message


def replies(requests: list[Request]) -> list[Any]:
    """What is replied to each."""
    totals, items = dict.fromkeys(SERVERS, 0), {name: list[int]() for name in SERVERS}
    heard: list[Any] = []
    for request in requests:
        whom, number = request.whom, request.number
        match request.what:
            case "add" | "crash":
                totals[whom] += number
                heard.append(totals[whom])
            case "log":
                items[whom].append(number)
                heard.append(list(items[whom]))
            case "fail":
                heard.append(f"{number} of {totals[whom]}")
            case "look":
                heard.append([totals[whom], list(items[whom])])
            case "pass on":
                totals[whom] -= number
                heard.append(totals[whom])
                totals[request.other] += number
            case "repeat":
                heard.append(heard[number])
            case "sleep":
                heard.append(None)
    return heard
