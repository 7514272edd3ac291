"""More than one who wants the same file."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from everstep.actors.actor import Actor
from everstep.actors.step import step
from everstep.runtime import Runtime
from everstep.storage.errors import EverstepError
from everstep.testing import Life, boundary, note

__all__ = ["another_process", "another_runtime", "fork", "killed_and_opened_at_once"]

OPEN_IT = """
import asyncio, sys
from everstep.runtime import Runtime

async def main():
    async with Runtime(sys.argv[1]):
        pass

try:
    asyncio.run(main())
except Exception as error:
    print(type(error).__name__, error)
else:
    print("opened")
"""


class Counts(Actor, name="survival.owners.Counts"):
    """Goes on for as long as others try to get in, and until it is let go."""

    number: int = 0

    async def run(self) -> int:
        while not _LET_GO:
            await self.count()
        return self.number

    @step
    async def count(self) -> None:
        boundary("counting")
        self.number += 1
        await asyncio.sleep(0)


_LET_GO: list[bool] = []


async def _while_it_counts(life: Life, intrude: Any) -> dict[str, Any]:
    """What the intruders were told; and that the owner counted on, without a gap."""
    async with Runtime(life.path, store=life.store()) as runtime:
        task = await runtime.start(Counts(), id="count")
        answers = await intrude(runtime)
        _LET_GO.append(True)
        counted = await task.result()
        info = await task.status()
        done = [event async for event in task.events() if event.kind == "step_completed"]
        assert len(done) == counted
        return {"answers": answers, "crashes": info.crashes, "deaths": info.deaths}


async def another_process(life: Life) -> dict[str, Any]:
    async def intrude(_: Runtime) -> list[str]:
        return [await _opened_elsewhere(life.path) for _ in range(2)]

    return await _while_it_counts(life, intrude)


async def _opened_elsewhere(path: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OPEN_IT, str(path), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return output.decode().strip()


async def another_runtime(life: Life) -> dict[str, Any]:
    async def intrude(_: Runtime) -> list[str]:
        link = life.path.with_name("another-name.db")
        os.link(life.path, link)
        return [await _answer(Runtime(path)) for path in (life.path, link)]

    return await _while_it_counts(life, intrude)


async def _answer(runtime: Runtime) -> str:
    try:
        async with runtime:
            return "opened"
    except EverstepError as error:
        return f"{type(error).__name__} {error}"


async def fork(life: Life) -> dict[str, Any]:
    async def intrude(runtime: Runtime) -> list[str]:
        listen, speak = os.pipe()
        child = os.fork()
        if child == 0:
            _be_the_fork(runtime, life.path, speak)
        os.close(speak)
        return (await asyncio.to_thread(_last_words, listen, child)).splitlines()

    return await _while_it_counts(life, intrude)


def _be_the_fork(runtime: Runtime, path: Path, speak: int) -> None:
    """Use what was inherited, then open a runtime of one's own on the same file."""
    answers: list[str] = []
    try:  # whatever it raises, the fork must not return
        answers.append(asyncio.run(_used(runtime)))
        answers.append(asyncio.run(_answer(Runtime(path))))
    except BaseException as error:
        answers.append(repr(error))
    os.write(speak, "\n".join(answers).encode())
    os._exit(0)


async def _used(runtime: Runtime) -> str:
    try:
        await runtime.start(Counts(), id="from the fork")
    except EverstepError as error:
        return f"{type(error).__name__} {error}"
    return "started"


def _last_words(pipe: int, child: int) -> str:
    said = b""
    while more := os.read(pipe, 65536):
        said += more
    os.close(pipe)
    os.waitpid(child, 0)
    return said.decode()


async def killed_and_opened_at_once(life: Life) -> float:
    """To be killed at a boundary; how long the opening took."""
    begun = life.clock.monotonic()
    async with Runtime(life.path, store=life.store()) as runtime:
        took = life.clock.monotonic() - begun
        note("opened", took=took)
        task = await runtime.start(Counts(), id="count")
        if life.number > 1:
            _LET_GO.append(True)
        await task.result()
        return took
