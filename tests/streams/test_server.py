"""`examples/server.py` under a real uvicorn: killed in the middle, stopped with open streams."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx
import pytest

from everstep import Runtime
from tests.streams.served import serving, up_to

pytestmark = [pytest.mark.real, pytest.mark.slow]

LONG = 3600.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


def test_a_killed_server_goes_on_and_a_client_resumes_without_gap_or_repeat(file: Path) -> None:
    with serving(file, pace=LONG) as server:
        server.ask("PUT", "/reports/r?topic=tea")
        with server.events("r", 0) as events:
            seen = up_to(events, "step_started", "write")

            server.kill()

            with pytest.raises(httpx.TransportError):
                seen += list(events)
    with serving(file, pace=0) as server:
        with server.events("r", seen[-1].id) as events:
            seen += up_to(events, "wait_started")
            (question,) = server.ask("GET", "/questions")
            verdict = {"question": question["id"], "publish": True, "by": "Ada"}
            server.ask("POST", "/reports/r/approval", **verdict)
            seen += list(events)  # it ends with the task
        assert server.ask("GET", "/reports/r/text") == "published: All about tea."
        with server.events("r", 0) as events:
            assert list(events) == seen
        last = {"Last-Event-ID": str(seen[-1].id)}
        assert server.client.get("/reports/r/events", headers=last).status_code == 204

    assert [event.id for event in seen] == list(range(1, len(seen) + 1))
    kinds = [event.kind for event in seen]
    assert kinds.count("task_died") == 1
    assert kinds[-1] == "task_succeeded"


@pytest.mark.parametrize("place", ["-1", "1e3", str(1 << 63)])
def test_a_client_that_comes_back_from_no_place_is_refused_before_anything_is_sent(
    file: Path, place: str
) -> None:
    with serving(file, pace=LONG) as server:
        server.ask("PUT", "/reports/r?topic=tea")
        answer = server.client.get("/reports/r/events", headers={"Last-Event-ID": place})

    assert answer.status_code == 422


async def test_a_server_that_is_stopped_ends_its_streams_at_once_and_nothing_is_charged(
    file: Path,
) -> None:
    with serving(file, pace=LONG) as server:
        server.ask("PUT", "/reports/r?topic=tea")
        server.ask("PUT", "/reports/s?topic=cups")
        with server.events("r", 0) as of_r, server.events("s", 0) as of_s:
            seen = {"r": up_to(of_r, "step_started"), "s": up_to(of_s, "step_started")}

            code = server.stop()

            for stream in (of_r, of_s):
                with pytest.raises(httpx.TransportError):  # a browser comes again
                    list(stream)
        assert code in (0, -signal.SIGTERM), server.log
        log = "".join(server.log)
        assert "Application shutdown complete" in log
        assert "timeout graceful shutdown exceeded" not in log
        assert "Traceback" not in log

    async with Runtime(file, actors=[]) as runtime:
        for name, events in seen.items():
            info = await runtime.task(name).status()
            (write,) = await runtime.task(name).steps()
            assert (info.status, info.deaths, info.crashes) == ("queued", 0, 0)
            assert (write.attempts, write.executions, write.running) == (0, 1, False)
            kinds = [event.kind async for event in runtime.task(name).events(after=events[-1].id)]
            assert "task_died" not in kinds and "step_cut" in kinds
