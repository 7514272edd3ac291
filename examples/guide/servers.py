"""A server: a chat that remembers what was said."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from everstep import Actor, HandlerFailed, Log, Retry, Runtime, handler


class Chat(Actor):
    said: Log[str] = Log()

    @handler(retry=Retry(max_attempts=2), timeout=30)
    async def say(self, text: str) -> str:
        if not text:
            raise ValueError("nothing was said")
        self.said.append(text)
        return f"{len(self.said)}: {text}"

    @handler(readonly=True)
    async def all(self) -> list[str]:
        return list(self.said)


class Guest(Actor):
    async def run(self) -> str:
        chat = self.ctx.get(Chat, "42")
        return await chat.ask(Chat.say, "good evening", timeout=60)


async def main(path: Path) -> None:
    async with Runtime(path) as runtime:
        chat = runtime.get(Chat, "42")
        print(await chat.ask(Chat.say, "hello", request_id="click-1"))
        print(await chat.ask(Chat.say, "hello", request_id="click-1"))
        await chat.tell(Chat.say, "is anybody there?")
        try:
            await chat.ask(Chat.say, "")
        except HandlerFailed as failed:
            print(failed.failure)
        print(await chat.ask(Chat.all))
        guest = await runtime.start(Guest())
        print(await guest.result())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "chats.db")))
