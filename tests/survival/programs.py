"""Whole programs, each of which must end: python programs.py NAME FILE."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import everstep.running
from everstep.actors.actor import Actor
from everstep.actors.step import step
from everstep.runtime import Runtime

BEGUN = asyncio.Event()
THREAD_BEGUN = threading.Event()


class Waits(Actor):
    """Waits for ever."""

    @step
    async def wait(self) -> None:
        BEGUN.set()
        await asyncio.get_running_loop().create_future()


class Swallows(Actor):
    """Waits for ever, whoever asks it to end."""

    @step
    async def wait(self) -> None:
        await swallow()


class SwallowsInRun(Actor):
    async def run(self) -> None:
        await swallow()


async def swallow() -> None:
    while True:
        BEGUN.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            continue


class Busy(Actor):
    """Keeps a thread busy for ever."""

    @step
    def work(self) -> None:
        THREAD_BEGUN.set()
        while True:
            time.sleep(0.01)


class Exits(Actor):
    @step
    async def work(self) -> None:
        sys.exit(7)


async def raises(path: str) -> None:
    async with Runtime(path, grace=0.1) as runtime:
        await runtime.start(Waits(), id="task")
        await BEGUN.wait()
        raise ValueError("in the body")


async def signalled(path: str) -> None:
    async with Runtime(path, grace=0.1) as runtime:
        task = await runtime.start(Waits(), id="task")
        await BEGUN.wait()
        print("ready", flush=True)  # noqa: T201
        await task.result()


async def swallows(path: str) -> None:
    async with Runtime(path, grace=0.1) as runtime:
        await runtime.start(Swallows(), id="task")
        await BEGUN.wait()
    print("left", flush=True)  # noqa: T201


async def swallows_in_run(path: str) -> None:
    async with Runtime(path, grace=0.1) as runtime:
        await runtime.start(SwallowsInRun(), id="task")
        await BEGUN.wait()
    print("left", flush=True)  # noqa: T201


async def busy_thread(path: str) -> None:
    async with Runtime(path, grace=0.1) as runtime:
        await runtime.start(Busy(), id="task")
        await asyncio.to_thread(THREAD_BEGUN.wait)


async def never_closed(path: str) -> None:
    runtime = Runtime(path)
    await runtime.__aenter__()
    await runtime.start(Waits(), id="task")
    await BEGUN.wait()


async def exits(path: str) -> None:
    async with Runtime(path, grace=0.1) as runtime:
        task = await runtime.start(Exits(), id="task")
        await task.result()


async def look(path: str) -> None:
    """How the task stands before anybody claims it: nobody here knows its class."""
    async with Runtime(path, actors=[]) as runtime:
        while (info := await runtime.task("task").status()).status == "running":
            await asyncio.sleep(0.01)
        print(f"{info.status} deaths={info.deaths} crashes={info.crashes}")  # noqa: T201


def lifespan(path: str) -> None:
    import uvicorn
    from fastapi import FastAPI

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncGenerator[None]:
        async with Runtime(path, grace=0.1) as runtime:
            await runtime.start(Waits(), id="task")
            await BEGUN.wait()
            if path:
                raise ValueError("in the lifespan")
            yield

    uvicorn.run(FastAPI(lifespan=life), port=0, log_level="error")


def main(name: str, path: str) -> None:
    if name == "lifespan":
        lifespan(path)
    elif name == "signalled":
        everstep.running.run(signalled(path))
    elif name == "unhandled":
        asyncio.run(signalled(path))
    else:
        asyncio.run(globals()[name](path))


if __name__ == "__main__":
    main(*sys.argv[1:])
