"""What a forked child does: live a scenario once, say how it went, and end."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from .life import Life
from .trail import FileTrail
from .zygote import trail_of

__all__ = ["be_the_child"]


def be_the_child(
    scenario: Callable[..., Any], request: dict[str, Any], speak: int, output: int
) -> NoReturn:
    """Never returns: the child's process ends here."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    random.seed()
    complaints: list[str] = []
    _listen_for_trouble(complaints)
    said: dict[str, Any] = {"result": None, "error": None, "complaints": complaints}
    try:
        said["result"] = _live(scenario, request, complaints)
        gc.collect()
        complaints += [f"the thread {name} was left behind" for name in _other_threads()]
    except BaseException:  # noqa: BLE001  whatever it is, the parent is told
        said["error"] = traceback.format_exc()
    sys.stderr.flush()
    words = json.dumps(said, default=str).encode()
    while words:
        words = words[os.write(speak, words) :]
    os._exit(0)


def _live(scenario: Callable[..., Any], request: dict[str, Any], complaints: list[str]) -> Any:
    path = Path(request["path"])
    trail = FileTrail(trail_of(path))
    life = Life(path, trail, end=_die, number=request["life"], die_at=request["die_at"])
    with life, asyncio.Runner() as runner:
        loop = runner.get_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(_described(context)))
        signal.signal(signal.SIGUSR1, lambda _, __: _print_tasks(loop))
        faulthandler.register(signal.SIGUSR1, chain=True)
        return runner.run(scenario(life, *request["args"]))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    while True:  # until it has arrived
        time.sleep(1)


# --- what would go unseen -----------------------------------------------------------------


def _listen_for_trouble(complaints: list[str]) -> None:
    def unraisable(found: sys.UnraisableHookArgs) -> None:
        complaints.append(f"in {found.object!r}: {found.exc_value!r}")

    def in_thread(found: threading.ExceptHookArgs) -> None:
        complaints.append(f"in the thread {found.thread}: {found.exc_value!r}")

    sys.unraisablehook = unraisable
    threading.excepthook = in_thread


def _described(context: dict[str, Any]) -> str:
    error = context.get("exception")
    trace = "" if error is None else "".join(traceback.format_exception(error))
    return f"{context['message']}\n{trace}".strip()


def _other_threads() -> list[str]:
    """Names of threads that are still there a moment after the end."""
    deadline = time.monotonic() + 1.0
    others: list[threading.Thread] = []
    while time.monotonic() < deadline:
        others = [one for one in threading.enumerate() if one is not threading.main_thread()]
        if not others:
            return []
        others[0].join(0.05)
    return [one.name for one in others]


def _print_tasks(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        sys.stderr.write(f"\n{task!r}\n")
        frames: list[FrameType] = task.get_stack()
        for frame in frames:
            summary = traceback.extract_stack(frame, limit=1)
            sys.stderr.write("".join(traceback.format_list(summary)))
        _print_awaited(task.get_coro())
    sys.stderr.flush()


def _print_awaited(awaitable: Any) -> None:
    """The chain of what a coroutine awaits, innermost last."""
    while awaitable is not None:
        frame = getattr(awaitable, "cr_frame", None)
        if frame is not None:
            sys.stderr.write(
                f"  {frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}\n"
            )
        awaitable = getattr(awaitable, "cr_await", None)
