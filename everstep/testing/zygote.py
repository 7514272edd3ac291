"""Real processes that really die, at the price of a fork."""

from __future__ import annotations

import inspect
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from ..storage.record import record

__all__ = ["Outcome", "Scenario", "Zygote", "trail_of"]

Scenario = Callable[..., Coroutine[Any, Any, Any]]
"""`async def scenario(life: Life, *args) -> R`, at the top of a module; R and args are JSON."""


@record
class Outcome:
    """How one life of a process went."""

    how: Literal["ended", "killed", "failed", "hung"]
    """`failed`: the scenario raised. `hung`: it had to be ended when its time was over."""
    result: Any = None
    """What the scenario returned, as JSON gives it back."""
    error: str = ""
    """The traceback of a scenario that raised, or the stacks of one that hung."""
    complaints: tuple[str, ...] = ()
    """What went wrong unseen: exceptions nobody retrieved, threads that stayed."""
    output: str = ""
    """What it wrote to its standard output and error."""

    def __str__(self) -> str:
        lines = [f"{self.how}: {self.result!r}", *self.complaints, self.error, self.output]
        return "\n".join(line for line in lines if line)


class Zygote:
    """A process with everything imported, which forks a child for each run.

    The scenario's module is imported once, by the first run of it. Everything blocks: it is
    meant for tests that are plain functions. Leaving the `with` ends the process and a child
    that still runs.

        with Zygote() as zygote:
            outcome = zygote.run(scenario, tmp_path / "tasks.db", die_at=7)
            assert outcome.how == "killed"
    """

    def __init__(self) -> None:
        command = [sys.executable, "-W", "error", "-m", "everstep.testing.zygote_process"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self,
        scenario: Scenario,
        path: Path,
        *args: Any,
        life: int = 1,
        die_at: int | None = None,
        kill_after: float | None = None,
        timeout: float = 30.0,
    ) -> Outcome:
        """Live once on the store file `path`; the trail is written beside it (`path` + .trail).

        The child kills itself with SIGKILL at the boundary numbered `die_at`; or it is killed
        after `kill_after` seconds, wherever it is. After `timeout` seconds it is ended as
        hanging, and its stacks are the outcome's error.
        """
        request = {
            "module": scenario.__module__,
            "file": inspect.getfile(scenario),
            "name": scenario.__qualname__,
            "path": str(path),
            "args": args,
            "life": life,
            "die_at": die_at,
            "kill_after": kill_after,
            "timeout": timeout,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the zygote has ended with {self._process.wait()}")
        return _outcome(json.loads(answer))

    def close(self) -> None:
        """End the process. May be called twice."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _outcome(answer: dict[str, Any]) -> Outcome:
    said: dict[str, Any] | None = answer["said"]
    output, status = answer["output"], answer["status"]
    if answer["hung"]:
        return Outcome("hung", error=answer["stacks"], output=output)
    if status == -signal.SIGKILL:
        return Outcome("killed", output=output)
    if said is None:
        return Outcome("failed", error=f"it ended with {status} and said nothing", output=output)
    complaints = tuple(said["complaints"])
    if said["error"] is not None:
        return Outcome("failed", error=said["error"], complaints=complaints, output=output)
    return Outcome("ended", said["result"], complaints=complaints, output=output)


def trail_of(path: Path) -> Path:
    """Where the trail of a store file is kept."""
    return path.with_name(path.name + ".trail")
