"""Waits: a trial month that outlasts every restart of the process."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from everstep import Actor, Runtime, step


class Trial(Actor):
    customer: str
    mails: list[str] = []

    async def run(self) -> str:
        await self.mail("welcome")
        await self.ctx.sleep(timedelta(days=25))
        await self.mail("five days left")
        ends = datetime(2031, 5, 1, 9, tzinfo=ZoneInfo("Europe/Berlin"))
        await self.ctx.sleep_until(ends)
        return await self.mail("goodbye")

    @step(key="text")
    async def mail(self, text: str) -> str:
        self.mails.append(text)
        return f"{self.customer}: {text}"


async def main(path: Path) -> None:
    async with Runtime(path, idle_after=10) as runtime:
        task = await runtime.start(Trial(customer="Ada"), id="trial-ada")
        async for event in task.events(follow=True):
            print(event.number, event.kind, event.step or "")
            if event.kind == "task_suspended":
                break


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "trial.db")))
