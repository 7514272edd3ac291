"""A client that all steps of one life share."""

import asyncio
from typing import Any

from pydantic import PrivateAttr

from everstep import Actor, Runtime, step


class Client:
    """Stands for a client with a pool of connections."""

    async def get(self, url: str) -> str:
        return f"<{url}>"


class Page(Actor):
    url: str
    text: str = ""
    _client: Client = PrivateAttr(default_factory=Client)

    @step
    async def load(self) -> None:
        self.text = await self._client.get(self.url)

    @step
    async def report(self) -> str:
        return self.text.upper()


async def main(path: Any = ":memory:") -> str:
    async with Runtime(path) as runtime:
        task = await runtime.start(Page(url="a"))
        state = await task.state(Page)
        assert state.url == "a"
        text: str = await task.result()
        return text


if __name__ == "__main__":
    print(asyncio.run(main()))
