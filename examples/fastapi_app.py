"""A web application that starts durable tasks: the lifespan owns the runtime.

python examples/fastapi_app.py          then open http://127.0.0.1:8000/docs
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated

import httpx
import uvicorn
from fastapi import Depends, FastAPI, Request, Response

from everstep import Actor, Runtime, Status, TaskExists, TaskNotFound, step


class Report(Actor):
    topic: str
    text: str = ""

    @step
    async def write(self) -> str:
        self.text = f"All about {self.topic}."
        return self.text


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    async with Runtime(os.environ.get("TASKS", "tasks.db"), grace=5) as runtime:
        app.state.runtime = runtime
        try:
            yield
        except asyncio.CancelledError:  # the runtime has failed: without it, do not serve on
            signal.raise_signal(signal.SIGTERM)
            raise


app = FastAPI(lifespan=lifespan)


def runtime_of(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


Tasks = Annotated[Runtime, Depends(runtime_of)]


@app.put("/reports/{name}", status_code=202)
async def start(name: str, topic: str, tasks: Tasks) -> str:
    """Answers when the task is in the store. Asked twice, it is one task."""
    task = await tasks.start(Report(topic=topic), id=name)
    return task.id


@app.get("/reports/{name}")
async def status(name: str, tasks: Tasks) -> Status:
    return (await tasks.task(name).status()).status


@app.get("/reports/{name}/text")
async def text(name: str, tasks: Tasks) -> str:
    """Waits for the end. A client that hangs up changes nothing of the task."""
    written: str = await tasks.task(name, Report).result()
    return written


@app.exception_handler(TaskNotFound)
async def not_found(_: Request, error: Exception) -> Response:
    return Response(str(error), status_code=404)


@app.exception_handler(TaskExists)
async def conflict(_: Request, error: Exception) -> Response:
    return Response(str(error), status_code=409)


async def check() -> None:
    """Use it without a server."""
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        for method, url in (
            ("PUT", "/reports/first?topic=refunds"),
            ("GET", "/reports/first/text"),
            ("GET", "/reports/first"),
            ("PUT", "/reports/first?topic=taxes"),
            ("GET", "/reports/second"),
        ):
            answer = await client.request(method, url)
            print(method, url, "->", answer.status_code, answer.text)


if __name__ == "__main__":
    if os.environ.get("EVERSTEP_EXAMPLE") == "check":
        asyncio.run(check())
    else:
        uvicorn.run(app, timeout_graceful_shutdown=5)  # for those who wait for a result
