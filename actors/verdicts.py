"""How the end of an attempt, or of a life, is read. Plain functions; nothing here awaits."""

from __future__ import annotations

from enum import Enum, auto

from .errors import (
    AmbiguousStep,
    BadActor,
    BadCall,
    ConflictingChange,
    DuplicateKey,
    EffectMismatch,
    EffectUnknown,
    HeartbeatMissed,
    LogItemChanged,
    NotSerializable,
    NotValid,
    PayloadTooLarge,
    ReadonlyChanged,
    StepTimeout,
)
from .failures import ChildEnded, Rejected, found_in
from .foreign import is_kind
from .retry import any_matches
from .wait_errors import WaitInStep

__all__ = [
    "Ended",
    "How",
    "Parted",
    "how_ended",
    "leaves_for_good",
    "never_retried",
]

_NEVER_RETRIED = (
    AmbiguousStep,
    BadActor,
    BadCall,
    ChildEnded,
    ConflictingChange,
    DuplicateKey,
    EffectMismatch,
    EffectUnknown,
    LogItemChanged,
    NotSerializable,
    NotValid,
    PayloadTooLarge,
    ReadonlyChanged,
    Rejected,
    WaitInStep,
)


class Parted(BaseException):
    """The cause by which the runtime ends code in order: stop, pause, cancel, end of `run`."""


class Ended(BaseException):
    """Raised through user code when its task cannot go on in this life; the reason is kept."""


class How(Enum):
    """What became of an attempt."""

    FAILED = auto()
    """It failed by itself, or ran out of time: counts."""
    HOPELESS = auto()
    """It failed with an error that trying again cannot mend: all attempts are used up."""
    LEFT = auto()
    """Its caller cancelled it: leaves nothing."""
    CUT = auto()
    """The runtime ended it, in order: is recorded and not charged."""
    LEAVING = auto()
    """The process is told to end: passes through."""


def how_ended(
    error: BaseException, cause: BaseException | None, cancelled: bool, closed: bool = False
) -> How:
    """Read the exception that left an attempt whose task is still ours.

    `cause` is why the runtime ended it, if it did; `cancelled` whether it is a cancellation that
    its caller asked for; `closed` whether its coroutine was closed, as an abandoned one is.
    """
    if closed or is_kind(error, (KeyboardInterrupt, SystemExit)):
        return How.LEAVING
    if isinstance(cause, Parted) or is_kind(error, Ended):
        return How.CUT
    if cancelled:
        return How.LEFT
    if isinstance(cause, (StepTimeout, HeartbeatMissed)):
        return How.FAILED
    return How.HOPELESS if never_retried(error) else How.FAILED


def never_retried(error: BaseException) -> bool:
    """Whether trying again is pointless by the kind of the error, or of one in a group."""
    return any_matches(error, _NEVER_RETRIED)


def leaves_for_good(error: BaseException) -> bool:
    """Whether an exception that left `run` must not be answered by a restart.

    It is an error that is never retried, or carries the failure of a step that failed with one.
    """
    return never_retried(error) or any(failed.failure.final for failed in found_in(error))
