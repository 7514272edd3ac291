"""A program that runs tasks until it is told to stop.

    python examples/guide/serve.py tasks.db

SIGTERM or Ctrl-C gives the tasks back in order; the next start goes on with them.
"""

import asyncio
import sys
from pathlib import Path

import everstep
from everstep import Actor, Runtime, step


class Nightly(Actor):
    @step
    async def prepare(self) -> None:
        """Done in a moment."""

    @step
    async def compute(self) -> str:
        print("computing", flush=True)
        await asyncio.sleep(3600)
        return "computed"


async def main(path: Path) -> None:
    async with Runtime(path, grace=0.1) as runtime:
        await runtime.start(Nightly(), id="nightly")
        await asyncio.Event().wait()


if __name__ == "__main__":
    everstep.run(main(Path(sys.argv[1])))
