"""A program with a watchdog, which is stopped, or forks. Not run by pytest itself."""

import asyncio
import os
import sys
import threading
import warnings

from everstep import SupervisionEvent, Supervisor, supervise
from everstep.supervisor.watchdog import Watchdog

AFTER = 0.2


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def tell(event: SupervisionEvent) -> None:
    if event.kind == "loop_blocked":
        say("blocked")


async def until_told() -> None:
    """Return at the next line of stdin; the loop is at work all the while."""
    line = asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    while not line.done():
        await asyncio.sleep(0)


async def stopped() -> None:
    async with supervise(Supervisor("root"), on_event=tell, blocked_after=AFTER):
        say("up")
        await until_told()
        for _ in range(1000):
            await asyncio.sleep(0)
        say("gone on")


async def forked() -> None:
    watchdog = Watchdog(60, lambda blocked: None)
    watchdog.start()
    say(f"{threading.active_count()} threads")
    warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, from 3.12
    child = os.fork()
    if child == 0:
        say(f"{threading.active_count()} in the child")
        watchdog.stop()
        say("stopped there")
        os._exit(0)
    os.waitpid(child, 0)  # noqa: ASYNC222  (nothing else is there to run)
    watchdog.stop()
    say(f"{threading.active_count()} at the end")


async def abandoned() -> None:
    await supervise(Supervisor("root"), blocked_after=AFTER).__aenter__()


if __name__ == "__main__":
    if sys.argv[1] == "abandoned":
        asyncio.new_event_loop().run_until_complete(abandoned())
        say("left behind")
    else:
        asyncio.run({"stopped": stopped, "forked": forked}[sys.argv[1]]())
