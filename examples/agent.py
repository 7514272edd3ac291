"""An agent: a model that asks for tools, several at once, until it has an answer.

    python examples/agent.py

Each turn of the model and each use of a tool is a step. What was said is a Log, so a checkpoint
costs what was added to it, however long the conversation has become.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from pydantic import BaseModel

from everstep import Actor, Log, Retry, Runtime, exponential, step


class Message(BaseModel):
    role: str
    text: str


class ToolCall(BaseModel):
    id: str
    tool: str
    argument: str


class Turn(BaseModel):
    """What the model has said: an answer, or tools that it wants to be used."""

    text: str
    calls: list[ToolCall] = []


# --- the agent --------------------------------------------------------------------------------


class Agent(Actor):
    question: str
    messages: Log[Message] = Log()

    async def run(self) -> str:
        self.messages.append(Message(role="user", text=self.question))
        while True:
            turn = await self.think()
            if not turn.calls:
                return turn.text
            await asyncio.gather(*(self.use(call) for call in turn.calls))

    @step(retry=Retry(max_attempts=5, backoff=exponential(1, maximum=60)), timeout=120)
    async def think(self) -> Turn:
        turn = await ask_model(self.messages)
        self.messages.append(Message(role="assistant", text=turn.text))
        return turn

    @step(key=lambda call: call.id, timeout=30)
    async def use(self, call: ToolCall) -> None:
        result = await TOOLS[call.tool](call.argument)
        self.messages.append(Message(role="tool", text=f"{call.id}: {result}"))


# --- the world, made up -----------------------------------------------------------------------


async def ask_model(messages: Log[Message]) -> Turn:
    """Stands for a language model: wants two tools at once, then has seen enough."""
    results = [message.text.split(": ")[1] for message in messages if message.role == "tool"]
    if not results:
        calls = [
            ToolCall(id="call-1", tool="weather", argument="Oslo"),
            ToolCall(id="call-2", tool="weather", argument="Rome"),
        ]
        return Turn(text="I look at both.", calls=calls)
    return Turn(text=f"It is {' and '.join(sorted(results))}.")


async def weather(place: str) -> str:
    return {"Oslo": "-4 °C in Oslo", "Rome": "19 °C in Rome"}[place]


TOOLS: dict[str, Callable[[str], Coroutine[Any, Any, str]]] = {"weather": weather}


async def main() -> None:
    async with Runtime(":memory:") as runtime:
        task = await runtime.start(Agent(question="How warm is it in Oslo and in Rome?"))
        print(await task.result())
        for done in await task.steps():
            print(f"  {done.identity}")


if __name__ == "__main__":
    asyncio.run(main())
