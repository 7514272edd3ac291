"""A web application that runs durable tasks: its lifespan owns the runtime.

python examples/server.py          then open http://127.0.0.1:8000/docs

Kill it at any moment and start it again: reports go on, and who follows their events resumes.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Any

import httpx
import uvicorn
from fastapi import Depends, FastAPI, Header, Request, Response
from pydantic import BaseModel
from sse_starlette import EventSourceResponse, ServerSentEvent

from everstep import (
    Actor,
    AlreadyAnswered,
    BadCall,
    NotAsked,
    Runtime,
    Status,
    TaskCancelled,
    TaskExists,
    TaskFailed,
    TaskNotFound,
    TaskPaused,
    WrongAnswer,
    step,
)

ENDED = {Status.SUCCEEDED, Status.FAILED, Status.CANCELLED}
PACE = float(os.environ.get("PACE", "0.5"))  # seconds that a model needs for a report


class Report(Actor):
    topic: str
    text: str = ""

    async def run(self) -> str:
        await self.write()
        if not await self.ctx.ask_human(f"Publish {self.text!r}?", schema=bool):
            return "kept back"
        return await self.publish()

    @step
    async def write(self) -> None:
        await asyncio.sleep(PACE)
        self.text = f"All about {self.topic}."

    @step
    async def publish(self) -> str:
        return f"published: {self.text}"


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    async with Runtime(os.environ.get("TASKS", "tasks.db"), grace=5) as app.state.runtime:
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
    return await tasks.task(name, Report).result()


@app.get("/reports/{name}/events")
async def events(
    name: str, tasks: Tasks, last_event_id: Annotated[int, Header(ge=0, lt=1 << 63)] = 0
) -> Response:
    """The log of the task, as it grows. A client that comes back gets what it has missed."""
    task = tasks.task(name)
    status = (await task.status()).status  # where there is none, say so before anything is sent
    if status in ENDED and not [event async for event in task.events(after=last_event_id)]:
        return Response(status_code=204)  # by which a browser knows not to come back
    return EventSourceResponse(messages(tasks, name, last_event_id))


async def messages(tasks: Runtime, name: str, after: int) -> AsyncGenerator[ServerSentEvent]:
    async for event in tasks.task(name).events(after=after, follow=True):
        told = {"kind": event.kind, "step": event.step, "data": event.data}
        yield ServerSentEvent(json.dumps(told), id=str(event.number))


@app.get("/questions")
async def questions(tasks: Tasks) -> list[dict[str, Any]]:
    """What people are asked, with the JSON schema of the answer."""
    return [asdict(question) for question in await tasks.inbox()]


class Verdict(BaseModel):
    question: str
    publish: bool
    by: str


@app.post("/reports/{name}/approval", status_code=202)
async def approve(name: str, verdict: Verdict, tasks: Tasks) -> None:
    """Answers when the answer is in the store. The first one stands."""
    await tasks.task(name).answer(verdict.question, verdict.publish, by=verdict.by)


STATUS_CODES: dict[type[Exception], int] = {
    TaskNotFound: 404,
    NotAsked: 404,
    TaskExists: 409,
    AlreadyAnswered: 409,
    TaskFailed: 409,  # these three by `result()`
    TaskPaused: 409,
    TaskCancelled: 409,
    BadCall: 422,
    WrongAnswer: 422,
}


async def refused(_: Request, error: Exception) -> Response:
    return Response(str(error), status_code=STATUS_CODES[type(error)])


for kind in STATUS_CODES:
    app.add_exception_handler(kind, refused)


async def check() -> None:
    """Use it without a server."""
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):

        async def ask(method: str, url: str, **body: Any) -> Any:
            answer = await client.request(method, url, json=body or None)
            print(method, url, "->", answer.status_code, answer.text)
            return answer.json() if answer.is_success else None

        await ask("PUT", "/reports/first?topic=refunds")
        await ask("PUT", "/reports/first?topic=taxes")
        await ask("GET", "/reports/second")
        async for event in app.state.runtime.events(kind="wait_started", follow=True):
            print(event.task_id, "waits for a person")
            break
        (asked,) = await ask("GET", "/questions")
        verdict = {"question": asked["id"], "publish": True, "by": "Ada"}
        await ask("POST", "/reports/first/approval", **verdict)
        await ask("GET", "/reports/first/text")
        seen = await client.get("/reports/first/events", headers={"Last-Event-ID": "3"})
        print(seen.text.replace("\r\n", "\n"))


if __name__ == "__main__":
    if os.environ.get("EVERSTEP_EXAMPLE") == "check":
        asyncio.run(check())
    else:
        port = int(os.environ.get("PORT", "8000"))
        uvicorn.run(app, port=port, timeout_graceful_shutdown=5)  # for who waits for a text
