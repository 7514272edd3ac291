"""What a supervisor is told, and what it orders, as plain records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ...storage.record import record
from ..pool_spec import Pool
from ..restart import UNSET, Restart, Unset
from .entries import ChildInfo, Ref
from .exits import Exit
from .spec import AutoShutdown, ChildSpec, Strategy

__all__ = [
    "Action",
    "Adapt",
    "AdaptPool",
    "Again",
    "Arm",
    "Begin",
    "Booted",
    "Call",
    "DeleteChild",
    "Disarm",
    "Due",
    "End",
    "Escalate",
    "EventKind",
    "Exited",
    "Halt",
    "Message",
    "NotStarted",
    "Post",
    "Reconfigure",
    "Reply",
    "Request",
    "RestartChild",
    "Start",
    "StartChild",
    "Started",
    "Stop",
    "Tell",
    "TerminateChild",
]


# --- what a supervisor is told --------------------------------------------------------------


@record
class Begin:
    """Start the children of the specification."""


@record
class Started:
    """A child said that it is ready."""

    id: str
    number: int
    value: Any = None


@record
class NotStarted:
    """A child ended before it was ready; its kind is `ignored` where it asked to be left out."""

    id: str
    number: int
    ended: Exit


@record
class Exited:
    """A child ended that was ready, or was ordered to stop."""

    id: str
    number: int
    ended: Exit


@record
class Again:
    """A restart has failed: count it, and try again."""

    id: str
    number: int


@record
class Due:
    """The backoff of a child is over."""

    id: str
    number: int


@record
class Halt:
    """Stop all children in order, then end like this."""

    ended: Exit


@record
class StartChild:
    """Add a child and start it."""

    spec: ChildSpec


@record
class TerminateChild:
    """Stop a child; it stays known."""

    child: str | Ref


@record
class RestartChild:
    """Start a child that is known and does not run."""

    child: str


@record
class DeleteChild:
    """Forget a child that does not run."""

    child: str


@record
class Reconfigure:
    """New settings, checked each by itself; those left UNSET stay."""

    strategy: Strategy | Unset = UNSET
    restart: Restart | Unset = UNSET
    auto_shutdown: AutoShutdown | Unset = UNSET
    children: tuple[ChildSpec, ...] | Unset = UNSET
    max_children: int | Unset | None = UNSET
    extra_args: tuple[Any, ...] | Unset = UNSET


@record
class AdaptPool:
    """Changes of the policy of a pool among the children; what is left out stays."""

    child: str
    changes: Mapping[str, Any]


Request = StartChild | TerminateChild | RestartChild | DeleteChild | Reconfigure | AdaptPool


@record
class Call:
    """A request of somebody who waits for the answer under `token`."""

    token: int
    request: Request


Message = Begin | Started | NotStarted | Exited | Again | Due | Halt | Call


# --- what a supervisor orders -------------------------------------------------------------


@record
class Start:
    """Start a child under this number."""

    id: str
    number: int
    spec: ChildSpec
    extra: tuple[Any, ...]
    """Put before the child's own arguments."""


@record
class Stop:
    """Stop a child; its end is to be reported."""

    id: str
    budget: float | None
    """Seconds until it is cut off; 0 at once, None never."""


@record
class Adapt:
    """Let a pool that runs go on by another policy."""

    id: str
    spec: Pool


@record
class Arm:
    """Send `Due` after `delay` seconds."""

    id: str
    number: int
    delay: float


@record
class Disarm:
    """Forget the `Due` that was to come."""

    id: str


@record
class Post:
    """Send this to the supervisor itself, behind what is already waiting."""

    message: Again


@record
class Reply:
    """Answer a call: with what is known of the child, with None, or with an error to raise."""

    token: int
    answer: ChildInfo | Exception | None


EventKind = Literal[
    "child_started",
    "child_exited",
    "child_late",
    "child_removed",
    "child_stopped",
    "leftover_ended",
    "limit_out_of_reach",
    "limit_reached",
    "loop_blocked",
    "restart_scheduled",
    "shutdown_error",
    "start_error",
    "storm_began",
    "storm_ended",
    "supervisor_ended",
    "supervisor_started",
]


@record
class Tell:
    """Make an event known."""

    kind: EventKind
    child: str = ""
    incarnation: int = 0
    reason: str = ""
    error: BaseException | None = None
    delay: float | None = None
    expected: bool = True


@record
class Booted:
    """The children of the specification are started."""


@record
class Escalate:
    """A child was told that the process is to end: the whole tree is to stop, from its root."""

    ended: Exit


@record
class End:
    """The supervisor has ended: all its children are down."""

    ended: Exit


Action = Start | Stop | Adapt | Arm | Disarm | Post | Reply | Tell | Booted | Escalate | End
