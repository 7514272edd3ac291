"""What a person writes so that a task goes on that has stopped."""

from __future__ import annotations

from .failures import Failure

__all__ = ["way_on"]


def way_on(task_id: str, reason: str | None, failure: Failure | None) -> str:
    """The line to write for a task that has stopped for this reason, by this failure."""
    before, action = "", "resume()"
    if reason == "effect_unknown":
        action = "settle(key, Done(value) or NotDone()), with a key of its effects()"
    elif failure is not None and failure.was_rejected:
        before, action = "that no stays, so ask again in a new task, and end this one: ", "cancel()"
    return f"{before}await runtime.task({task_id!r}).{action}"
