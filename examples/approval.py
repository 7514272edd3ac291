"""A newsletter that is published when a person says so, over the death of the process that asked.

    python examples/approval.py

The process asks and is killed; nothing waits in memory any more. The next one finds the question in
the inbox, a person answers there, and only then the step runs. Of two letters one gets a no.
"""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from everstep import Actor, Approval, Rejected, Runtime, step


class Newsletter(Actor):
    topic: str
    archive: Path
    text: str = ""

    @step
    async def write(self) -> None:
        self.text = f"all about {self.topic}"

    @step(approval="Publish {self.text!r} to {readers} readers?")
    async def publish(self, readers: int) -> str:
        line = f"{self.topic}: {self.text}\n"
        return await self.ctx.once("publish", append, self.archive, line)

    async def run(self) -> str:
        await self.write()
        try:
            return await self.publish(readers=4000)
        except Rejected as no:
            return f"kept back: {no.by} says {no.comment!r}"


async def append(archive: Path, line: str) -> str:
    """Stands for the mail to all readers."""
    with archive.open("a") as published:
        published.write(line)
    return "published"


# --- the process that asks --------------------------------------------------------------------


async def ask(folder: Path) -> None:
    """Start both letters, and say when the inbox has both questions; whoever reads it kills us."""
    async with Runtime(folder / "tasks.db") as runtime:
        for topic in ("tea", "rum"):
            letter = Newsletter(topic=topic, archive=folder / "published.txt")
            task = await runtime.start(letter, id=topic)
            async for event in task.events(follow=True):
                if event.kind == "wait_started":
                    break
        print("asked", flush=True)
        await asyncio.Event().wait()


def ask_and_die(folder: Path) -> None:
    """Ask in a child process, and kill that while it waits for the answers."""
    command = [sys.executable, __file__, "child", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "asked\n"
        child.kill()


# --- the process that comes back --------------------------------------------------------------


async def answer(folder: Path) -> dict[str, str]:
    """Answer as Ada would on a page that shows the inbox; what became of the letters."""
    async with Runtime(folder / "tasks.db", actors=[Newsletter]) as runtime:
        for question in await runtime.inbox():
            print(f"{question.task_id} waits in {question.step}: {question.prompt}")
            verdict = Approval(approved=True)
            if "rum" in question.prompt:
                verdict = Approval(approved=False, comment="not before noon")
            await runtime.task(question.task_id).answer(question.id, verdict, by="Ada")
        return {topic: await runtime.task(topic, Newsletter).result() for topic in ("tea", "rum")}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ask_and_die(folder)
        print("the process that asked was killed")
        assert not (folder / "published.txt").exists()
        for topic, end in asyncio.run(answer(folder)).items():
            print(f"{topic}: {end}")
        print(f"published: {(folder / 'published.txt').read_text()}", end="")


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        asyncio.run(ask(Path(sys.argv[2])))
    else:
        main()
