"""An article that is published when a person says so, over a restart."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from everstep import Actor, Runtime, step


class Decision(BaseModel):
    publish: bool
    remark: str = ""


class Article(Actor):
    title: str

    async def run(self) -> str:
        text = await self.write()
        decision = await self.ctx.ask_human(
            f"Publish {text!r}?", schema=Decision, timeout=timedelta(days=7)
        )
        return await self.publish(decision.remark) if decision.publish else "kept back"

    @step
    async def write(self) -> str:
        return f"All about {self.title}"

    @step
    async def publish(self, remark: str) -> str:
        return f"published ({remark})"


async def main(path: Path) -> None:
    async with Runtime(path) as runtime:
        task = await runtime.start(Article(title="tea"), id="article-1")
        async for event in task.events(follow=True):
            if event.kind == "wait_started":
                break
    async with Runtime(path) as runtime:
        for question in await runtime.inbox():
            print(question.task_id, question.prompt, question.schema["title"])
            answer = {"publish": True, "remark": "well done"}
            await runtime.task(question.task_id).answer(question.id, answer, by="Ada")
        print(await runtime.task("article-1").result())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "articles.db")))
