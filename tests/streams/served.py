"""`examples/server.py` in a process of its own, and its events as a client reads them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

PROGRAM = Path(__file__).resolve().parent.parent.parent / "examples" / "server.py"
LIMIT = 60.0
"""Seconds after which a test gives up."""


@dataclass(frozen=True)
class Told:
    """A server-sent event."""

    id: int
    kind: str
    step: str | None


class Server:
    """A uvicorn on a port of its own, with the tasks of a file."""

    def __init__(self, tasks: Path, pace: float) -> None:
        self.log: list[str] = []
        environment = {"TASKS": str(tasks), "PACE": str(pace), "PORT": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", str(PROGRAM)],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.client = httpx.Client(base_url=self._address(), timeout=LIMIT)

    def _address(self) -> str:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.log.append(line)
            if found := re.search(r"running on (http://\S+)", line):
                return found[1]
        raise AssertionError("".join(self.log))

    def ask(self, method: str, url: str, **body: Any) -> Any:
        answer = self.client.request(method, url, json=body or None)
        assert answer.is_success, (answer.status_code, answer.text)
        return answer.json()

    def kill(self) -> None:
        """End it as the kernel does when memory is short."""
        self._process.kill()
        self._ended()

    def stop(self) -> int:
        """Ask it to end, and return how it did."""
        self._process.send_signal(signal.SIGTERM)
        return self._ended()

    def _ended(self) -> int:
        _, said = self._process.communicate(timeout=LIMIT)
        self.log += said.splitlines(keepends=True)
        return self._process.returncode

    def close(self) -> None:
        self.client.close()
        if self._process.poll() is None:
            self.kill()

    @contextmanager
    def events(self, name: str, after: int) -> Generator[Iterator[Told]]:
        """The events of a report, as a client reads them that has seen some."""
        headers = {"Last-Event-ID": str(after)} if after else {}
        with self.client.stream("GET", f"/reports/{name}/events", headers=headers) as response:
            assert response.status_code == 200
            yield _told(response.iter_lines())


def _told(lines: Iterator[str]) -> Iterator[Told]:
    number = 0
    for line in lines:
        what, _, value = line.partition(": ")
        if what == "id":
            number = int(value)
        elif what == "data":
            data = json.loads(value)
            yield Told(number, data["kind"], data["step"])


def up_to(events: Iterator[Told], kind: str, step: str | None = None) -> list[Told]:
    """The events up to the first of this kind, of this step where one is named."""
    seen: list[Told] = []
    for event in events:
        seen.append(event)
        if event.kind == kind and step in (None, event.step):
            return seen
    raise AssertionError(f"it ended without {kind}: {seen}")


@contextmanager
def serving(tasks: Path, *, pace: float) -> Generator[Server]:
    server = Server(tasks, pace)
    try:
        yield server
    finally:
        server.close()
