"""A web client, a poller and a parser under one supervisor, with faults injected. Watch it heal.

    python examples/supervised_services.py

The poller asks through the client, the parser reads what the poller found: rest_for_one, so that
who fails takes along those that were started after it, and nobody else. First a page makes the
parser fail, then the poller fails, then the site drops the connection; last it stays down for
good, and after a few tries with a growing backoff the supervisor gives up.
"""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from anyio.abc import TaskStatus

from everstep import (
    Child,
    Restart,
    RestartLimitExceeded,
    RunningSupervisor,
    SupervisionEvent,
    Supervisor,
    exponential,
    supervise,
)

PACE = 0.02 if os.environ.get("EVERSTEP_EXAMPLE") == "check" else 0.5
"""Seconds between two polls."""
COLOURS = {"up": "32", "restarting": "33", "starting": "33", "stopping": "33", "undefined": "90"}
LIGHTS = {"up": "●", "restarting": "◌", "starting": "◍", "stopping": "◍", "undefined": "○"}


class Site:
    """Stands for a web site: it can drop its connections, and be down."""

    def __init__(self) -> None:
        self.down = False
        self.dropped = asyncio.Event()
        self.pages = 0
        self.next_page = ""

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[None]:
        await asyncio.sleep(PACE / 2)
        if self.down:
            raise ConnectionRefusedError("the site is down")
        self.dropped.clear()
        yield

    async def get(self) -> str:
        await asyncio.sleep(PACE)
        self.pages += 1
        page, self.next_page = self.next_page or f"{self.pages} cats", ""
        return page

    def drop(self, *, for_good: bool = False) -> None:
        self.down = for_good
        self.dropped.set()


class Pipeline:
    """The three services, and what they share."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.pages: asyncio.Queue[str] = asyncio.Queue()
        self.cats = 0

    async def client(self, *, task_status: TaskStatus[None]) -> None:
        async with self.site.connect():
            task_status.started()
            await self.site.dropped.wait()
            raise ConnectionResetError("the site dropped the connection")

    async def poller(self) -> None:
        while True:
            page = await self.site.get()
            if page == "?":
                raise TimeoutError("the page did not come")
            self.pages.put_nowait(page)

    async def parser(self) -> None:
        while True:
            count, _ = (await self.pages.get()).split()
            self.cats += int(count)


def tree(pipeline: Pipeline) -> Supervisor:
    """The order is the order of dependence."""
    restart = Restart(
        20, within=60, backoff=exponential(PACE, maximum=PACE * 8), max_failures=3,
        reset_after=PACE * 3,
    )  # fmt: skip
    children = [
        Child(pipeline.client, start_timeout=5),
        Child(pipeline.poller),
        Child(pipeline.parser),
    ]
    return Supervisor("pipeline", strategy="rest_for_one", restart=restart, children=children)


async def break_things(pipeline: Pipeline, running: RunningSupervisor) -> None:
    """One fault after the other, each given time to heal."""
    for what in ("an unreadable page", "a page that does not come", "a dropped connection"):
        await quiet(running)
        print(f"\n>>> {what}")
        match what:
            case "an unreadable page":
                pipeline.site.next_page = "no number"
            case "a page that does not come":
                pipeline.site.next_page = "?"
            case _:
                pipeline.site.drop()
        await asyncio.sleep(PACE * 2)
    await quiet(running)
    assert all(info.status == "up" for info in running.children())
    print("\n>>> the site goes down for good")
    pipeline.site.drop(for_good=True)
    await running.wait()


async def quiet(running: RunningSupervisor) -> None:
    """Return when all three have been up for a while."""
    up = 0
    while up < 3:
        await asyncio.sleep(PACE)
        up = sum((info.up_for or 0) > PACE * 3 for info in running.children())


class Screen:
    """One line an event, and who is up after it."""

    def __init__(self) -> None:
        self.running: RunningSupervisor | None = None

    def show(self, event: SupervisionEvent) -> None:
        colour = "0" if event.expected else "31"
        reason = "gives up" if event.kind == "limit_reached" else event.reason
        delay = f", again in {event.delay:.2f} s" if event.delay else ""
        what = f"{event.kind:18} {event.child or event.supervisor:9} {reason.split(';')[0]}{delay}"
        print(f"{self.lights():40} {paint(colour, what)}")

    def lights(self) -> str:
        if self.running is None:
            return ""
        infos = list(reversed(self.running.children()))
        return "  ".join(
            paint(COLOURS[info.status], f"{LIGHTS[info.status]} {info.id}") for info in infos
        )


def paint(colour: str, text: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if sys.stdout.isatty() else text


async def main() -> None:
    logging.getLogger("everstep").addHandler(logging.NullHandler())  # shown by the screen
    pipeline, screen = Pipeline(Site()), Screen()
    try:
        async with supervise(tree(pipeline), on_event=screen.show) as running:
            screen.running = running
            await break_things(pipeline, running)
    except RestartLimitExceeded as error:
        print(f"\n{error}\n\n{pipeline.site.pages} pages were read, {pipeline.cats} cats counted")


if __name__ == "__main__":
    asyncio.run(main())
