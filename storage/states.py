"""The words for where a task, a step and an effect are."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ENDED", "LIVING", "EffectState", "Outcome", "Status"]


class Status(StrEnum):
    """Where a task is. The last three end a generation of it; after success there is no other."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED})

LIVING = frozenset({Status.RUNNING, Status.WAITING})
"""There may be an actor of it in a process."""


class Outcome(StrEnum):
    """How a step ended for good."""

    COMPLETED = "completed"
    FAILED = "failed"


class EffectState(StrEnum):
    """What is known of a side effect."""

    INTENT = "intent"
    """It may be under way; with no call of it running any more, it is unknown."""
    RECEIPT = "receipt"
    """It happened, and this is what it returned."""
    NOT_DONE = "not_done"
    """It did not happen, and may be tried again."""
