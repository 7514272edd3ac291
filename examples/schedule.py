"""A report on each morning in Shanghai, and one a second that is made up for after a downtime.

python examples/schedule.py
"""

import asyncio
import tempfile
from datetime import timedelta
from pathlib import Path

from everstep import Actor, Runtime, Schedule, step


class Report(Actor):
    topic: str

    @step
    async def write(self) -> str:
        instant = self.ctx.task_id.rpartition("/")[2]
        report = f"{self.topic} as of {instant}"
        desk.put_nowait(report)
        return report


desk = asyncio.Queue[str]()


async def every_morning(runtime: Runtime) -> Schedule:
    return await runtime.schedule(
        "morning",
        cron="0 7 * * MON-FRI",
        tz="Asia/Shanghai",
        actor=Report(topic="refunds"),
        catch_up=timedelta(hours=3),
    )


async def every_second(runtime: Runtime) -> Schedule:
    return await runtime.schedule(
        "beat", every=1, actor=Report(topic="load"), overlap="queue", catch_up=60
    )


async def before(path: Path) -> None:
    async with Runtime(path) as runtime:
        morning = await every_morning(runtime)
        print(f"{morning.name}: next at {(await morning.info()).next_at}")
        await morning.trigger(id="a look at it")
        print(await desk.get())
        beat = await every_second(runtime)
        print(f"{beat.name}: next at {(await beat.info()).next_at}")


async def after(path: Path) -> None:
    """Start again: the same declarations change nothing, and what was missed is made up for."""
    async with Runtime(path) as runtime:
        await every_morning(runtime)
        await every_second(runtime)
        for _ in range(3):
            print(await desk.get())


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tasks.db"
        await before(path)
        await asyncio.sleep(2.5)  # the process is down
        await after(path)


if __name__ == "__main__":
    asyncio.run(main())
