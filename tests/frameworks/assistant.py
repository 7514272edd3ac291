"""A program: an agent of pydantic-ai in a task, whose second tool kills the process once.

python -m tests.frameworks.assistant FILE RECORD: what is really called is a line of RECORD.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from everstep import Actor, Pool, Restart, Runtime
from tests.frameworks.durability import Durability, inside

RECORD = Path(os.environ.get("RECORD", os.devnull))
CALLS = [
    ToolCallPart("weather", {"place": "Oslo"}, tool_call_id="call-1"),
    ToolCallPart("weather", {"place": "Rome"}, tool_call_id="call-2"),
]


def record(line: str) -> int:
    """Write down what is called; the number of times that it was called."""
    with RECORD.open("a") as file:
        file.write(line + "\n")
    return RECORD.read_text().splitlines().count(line)


def think(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Stands for a language model: wants two tools at once, then has seen enough."""
    results = [
        str(part.content)
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    record(f"model {len(results)}")
    if results:
        return ModelResponse([TextPart(" and ".join(sorted(results)))])
    return ModelResponse(list(CALLS))


agent = Agent(FunctionModel(think), name="assistant", capabilities=[Durability()])
oslo_is_done = asyncio.Event()


@agent.tool_plain
async def weather(place: str) -> str:
    times = record(f"tool {place}")
    if place == "Rome" and times == 1:
        await oslo_is_done.wait()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"cold in {place}" if place == "Oslo" else f"warm in {place}"


class Assistant(Actor, name="frameworks.Assistant"):
    question: str

    async def run(self) -> str:
        with inside(self):
            return (await agent.run(self.question)).output


async def main(path: str) -> None:
    async with Runtime(path, tree=Pool(restart=Restart(3))) as runtime:
        task = await runtime.start(Assistant(question="How is the weather?"), id="assistant")
        answer = asyncio.create_task(task.result())
        async for event in task.events(follow=True):
            if event.kind == "step_completed" and str(event.step).endswith("call-1"):
                oslo_is_done.set()
        sys.stdout.write(await answer)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
