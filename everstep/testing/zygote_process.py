"""The process behind `Zygote`: reads requests, forks a child for each, tells how it ended.

Single-threaded, so that a fork is safe. A request and an answer are a line of JSON each.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .zygote_child import be_the_child

_LAST_WORDS = 0.5
"""Seconds that a hanging child gets to say where it hangs."""


def main() -> None:
    """Serve until the standard input ends."""
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        scenario = _find(request["module"], request["file"], request["name"])
        sys.stdout.write(json.dumps(_run(scenario, request)) + "\n")
        sys.stdout.flush()


def _find(module: str, file: str, name: str) -> Callable[..., Any]:
    """The scenario, its module imported by the name that it has in the process that asks."""
    names = module.split(".")
    root = Path(file).with_suffix("")
    if root.parts[-len(names) :] == tuple(names):
        top = str(root.parents[len(names) - 1])
        if top not in sys.path:
            sys.path.append(top)
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    scenario: Callable[..., Any] = found
    return scenario


def _run(scenario: Callable[..., Any], request: dict[str, Any]) -> dict[str, Any]:
    """Fork a child, and listen until it has ended."""
    with tempfile.TemporaryFile() as output:
        listen, speak = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(listen)
            be_the_child(scenario, request, speak, output.fileno())
        os.close(speak)
        said, hung = _listen(listen, child, request["timeout"], request["kill_after"])
        os.close(listen)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return {
        "said": json.loads(said) if said else None,
        "status": os.waitstatus_to_exitcode(status),
        "hung": hung,
        "stacks": text if hung else "",
        "output": "" if hung else text[-20_000:],
    }


def _listen(pipe: int, child: int, timeout: float, kill_after: float | None) -> tuple[bytes, bool]:
    """All that the child says until it ends; whether it had to be ended because it hung."""
    said = _hear(pipe, timeout if kill_after is None else kill_after)
    if said is not None:
        return said, False
    if kill_after is None:
        os.kill(child, signal.SIGUSR1)
        _hear(pipe, _LAST_WORDS)
    os.kill(child, signal.SIGKILL)
    return b"", kill_after is None


def _hear(pipe: int, seconds: float) -> bytes | None:
    """All that comes through the pipe until it is closed; None where that takes longer."""
    said = b""
    deadline = time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        more = os.read(pipe, 65536)
        if not more:
            return said
        said += more


if __name__ == "__main__":
    main()
