"""pydantic-graph with its file persistence: a JSON file for each run, written without a sync.

Version 1; from version 2 on it keeps nothing.
"""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .course import Course, Took, given, tell

if TYPE_CHECKING:

    class BaseNode: ...

    class End:
        def __init__(self, data: dict[str, int]) -> None: ...

    Graph: Any
    FileStatePersistence: Any
else:
    warnings.simplefilter("ignore")  # it says that version 2 comes without
    from pydantic_graph import BaseNode, End, Graph
    from pydantic_graph.persistence.file import FileStatePersistence


@dataclass
class State:
    number: int
    loaded: bool = False


@dataclass
class Load(BaseNode):
    async def run(self, context: Any) -> Work:
        context.state.loaded = True
        return Work()


@dataclass
class Work(BaseNode):
    async def run(self, context: Any) -> Save:
        return Save()


@dataclass
class Save(BaseNode):
    async def run(self, context: Any) -> End:
        return End({"number": context.state.number})


async def run(course: Course) -> Took:
    graph = Graph(nodes=(Load, Work, Save), state_type=State, run_end_type=dict[str, int])

    async def task(number: int) -> None:
        kept = FileStatePersistence(course.folder / f"{number}.json")
        await graph.run(Load(), state=State(number), persistence=kept)

    return await course.run(task)


if __name__ == "__main__":
    tell(asyncio.run(run(given())))
