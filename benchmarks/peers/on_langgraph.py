"""LangGraph with its SQLite saver: WAL, synchronous FULL; each checkpoint before the next node."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypedDict

from .course import Course, Took, given, tell

if TYPE_CHECKING:
    AsyncSqliteSaver: Any
    StateGraph: Any
    START: str
    END: str
else:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    number: int
    loaded: bool


async def load(state: State) -> dict[str, bool]:
    return {"loaded": True}


async def work(state: State) -> dict[str, int]:
    return {"number": state["number"]}


async def save(state: State) -> dict[str, int]:
    return {"number": state["number"]}


def drawn() -> Any:
    """The three nodes in a row."""
    graph = StateGraph(State)
    names = [START]
    for body in (load, work, save):
        graph.add_node(body.__name__, body)
        graph.add_edge(names[-1], body.__name__)
        names.append(body.__name__)
    graph.add_edge(names[-1], END)
    return graph


async def run(course: Course) -> Took:
    async with AsyncSqliteSaver.from_conn_string(str(course.folder / "langgraph.sqlite")) as saver:
        await saver.setup()
        graph = drawn().compile(checkpointer=saver)

        async def task(number: int) -> None:
            thread = {"configurable": {"thread_id": str(number)}}
            await graph.ainvoke({"number": number, "loaded": False}, thread, durability="sync")

        return await course.run(task)


if __name__ == "__main__":
    tell(asyncio.run(run(given())))
