"""A call in a process of its own, so that whatever becomes of it, the caller goes on.

The process is forked: it begins with what the caller has imported, and leaves nothing behind in the
caller's memory that another measurement would notice.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import TypeVar

__all__ = ["Failed", "apart"]

T = TypeVar("T")


class Failed(Exception):
    """The call raised, or its process died or took too long."""


def apart(call: Callable[[], T], seconds: float) -> T:
    """What a call returns in a child process, which is killed when it has taken so many seconds.

    No process that it has started outlives it, unless that has left its session.
    Raises Failed, with the child's traceback if it had one.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, call))
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            raise Failed(f"not done in {seconds:.0f} s")
        answer: T | _Raised = receiver.recv()
    except EOFError:
        process.join()
        raise Failed(f"its process died, exit code {process.exitcode}") from None
    finally:
        _end(process)
        receiver.close()
    if isinstance(answer, _Raised):
        raise Failed(str(answer))
    return answer


class _Raised(str):
    """The traceback of a call that raised."""


def _end(process: ForkProcess) -> None:
    assert process.pid, "it was started"
    with suppress(ProcessLookupError):  # it leads no group yet, or all of it have ended
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def _answer(sender: Connection, call: Callable[[], object]) -> None:
    os.setsid()
    try:
        answer = call()
    except Exception:  # noqa: BLE001 - whatever it was, it is the caller's answer
        answer = _Raised(traceback.format_exc())
    sender.send(answer)
