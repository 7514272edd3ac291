"""A program with a tree of services, for the tests of signals. Not run by pytest itself."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import everstep
from everstep import Child, Supervisor, supervise


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def service(name: str, cleanup: float) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        say(f"-{name}")
        await asyncio.sleep(cleanup)
        say(f".{name}")


async def main(cleanup: float) -> None:
    children = [
        Child(service, args=(name, cleanup), id=name, shutdown=None) for name in ("a", "b", "c")
    ]
    async with supervise(Supervisor("root", children=children)) as running:
        while running.count().active < 3:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        say("up")
        await asyncio.Event().wait()


if __name__ == "__main__":
    runners: dict[str, Callable[[Coroutine[Any, Any, None]], None]] = {
        "asyncio": asyncio.run,
        "everstep": everstep.run,
    }
    runners[sys.argv[1]](main(float(sys.argv[2])))
