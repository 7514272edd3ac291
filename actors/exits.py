"""How one life of an actor ends, as plain records. What follows is decided by the supervisor."""

from __future__ import annotations

from dataclasses import field

from ..storage.errors import EverstepError
from ..storage.record import record
from ..storage.records import StepReset
from .failures import Failure, StepFailed

__all__ = ["Crashed", "Exit", "Fenced", "Halted", "Left", "Released", "Succeeded"]


@record
class Succeeded:
    """`run`, or the last step of the plan, has returned; the task's end is committed."""


@record
class Crashed:
    """An exception left `run`. Nothing of it is recorded yet."""

    failure: Failure
    never_retried: bool
    """The cause is an error for which trying again is pointless: give up at once."""
    forget: tuple[StepReset, ...] = ()
    """Failures of steps that left `run` with it, and get a fresh budget."""
    step: StepFailed | None = None
    """The first step found in it that had used up its attempts."""


@record
class Halted:
    """The task cannot go on without a person. To be recorded as `paused`; charges nothing."""

    reason: str
    """One word: `effect_moved`, `effect_unknown`, `parent_paused`, `replay_mismatch`,
    `state_unreadable`."""
    failure: Failure
    remedy: str
    """The command that ends the pause."""


@record
class Released:
    """The life was ended from outside, in order: stop, pause or cancel. Charges nothing."""

    severed: bool = False
    """User code did not end in time and is never resumed again."""
    late: tuple[str, ...] = field(default=())
    """Who was late: steps that had not reached their checkpoint."""


@record
class Left:
    """It stood in durable waits and has left memory; its row says so and nothing is charged."""


@record
class Fenced:
    """Nothing of this life is written any more.

    Somebody else owns the task, the store is gone, or a fault left a write half put together.
    """

    refusal: EverstepError


Exit = Succeeded | Crashed | Halted | Released | Left | Fenced
