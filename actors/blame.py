"""What a task failed with: the original error, and the step that it came from."""

from __future__ import annotations

from dataclasses import asdict

from pydantic_core import from_json, to_json

from ..storage.record import record
from .exits import Crashed
from .failures import Failure, StepFailed, read_failure

__all__ = ["Blame", "blame_of", "read_blame"]


@record
class Blame:
    """The facts of a task's last failure, as its row keeps them."""

    failure: Failure
    step: str | None = None
    """Identity of the step that used up its attempts; None where `run` itself raised."""
    attempts: int = 0

    def encoded(self) -> bytes:
        """Readable as a Failure too."""
        return to_json({**asdict(self.failure), "step": self.step, "tried": self.attempts})


def read_blame(data: bytes) -> Blame:
    """The blame that a row's `error` holds, also where only a failure was written."""
    facts = from_json(data)
    step, tried = facts.get("step"), facts.get("tried")
    return Blame(
        read_failure(data),
        step if isinstance(step, str) else None,
        tried if isinstance(tried, int) else 0,
    )


def blame_of(ended: Crashed) -> Blame:
    """Look behind a StepFailed that left `run`: at the step, and what its last attempt raised."""
    if ended.step is None or not ended.failure.is_a(StepFailed):
        return Blame(ended.failure)
    return Blame(ended.step.failure, ended.step.identity, ended.step.attempts)
