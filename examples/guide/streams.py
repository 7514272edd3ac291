"""Streams: the words of an answer are shown while a model says them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from everstep import Actor, Retry, Runtime, Task, fixed, step


async def ask_model(question: str, attempt: int) -> AsyncIterator[str]:
    """Stands for a model whose connection breaks the first time."""
    for word in ("It", " depends", " on", f" {question}."):
        if attempt == 1 and word == " on":
            raise ConnectionError("the model has hung up")
        yield word


class Answer(Actor):
    question: str
    text: str = ""

    @step(retry=Retry(max_attempts=3, backoff=fixed(0)))
    async def say(self) -> None:
        tokens = self.ctx.stream("tokens")
        words: list[str] = []
        async for word in ask_model(self.question, self.ctx.attempt):
            tokens.write(word)
            words.append(word)
        self.text = "".join(words)


async def show(task: Task[None]) -> str:
    """Print the text as it grows; where an attempt begins, what was said before is void."""
    text = ""
    async for piece in task.stream("tokens", follow=True):
        text = piece.data if piece.first else text + piece.data
        print(f"{piece.offset} (attempt {piece.attempt}): {text}")
    return text


async def main(path: Path) -> None:
    async with Runtime(path) as runtime:
        task = await runtime.start(Answer(question="the weather"))
        shown = await show(task)
        assert shown == (await task.state(Answer)).text


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "answers.db")))
