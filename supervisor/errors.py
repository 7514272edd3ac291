"""Errors of supervision. Where OTP answers with an error atom, the class has that name."""

from __future__ import annotations

from ..storage.errors import EverstepError

__all__ = [
    "AlreadyPresent",
    "AlreadyStarted",
    "BadCombination",
    "DuplicateChild",
    "DuplicatePool",
    "EndedBeforeStarted",
    "FailedToStartChild",
    "MaxChildren",
    "MissingExtra",
    "NoProc",
    "NotFound",
    "PoolInUse",
    "RestartLimitExceeded",
    "Restarting",
    "Running",
    "SimpleOneForOne",
    "StartTimeout",
    "SupervisorFailed",
    "Unsupervised",
]


# --- for the author of a schedule -------------------------------------------------------


class MissingExtra(EverstepError, ImportError):
    """What was asked for needs a package that everstep does not install by itself."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        self.what = what
        self.package = package
        self.extra = extra
        super().__init__(
            f"{what} needs the package {package}, which is not installed; "
            f'pip install "everstep[{extra}]"'
        )


# --- for the author of a tree -----------------------------------------------------------


class BadCombination(EverstepError, ValueError):
    """Two options exclude each other, or one has no meaning where it stands."""

    def __init__(self, what: str, options: str, why: str, instead: str) -> None:
        self.what = what
        self.options = options
        self.why = why
        self.instead = instead
        super().__init__(f"{what}: {options} {why}; write {instead}")


class DuplicateChild(EverstepError, ValueError):
    """Two children of one supervisor have the same id."""

    def __init__(self, supervisor: str, child: str) -> None:
        self.supervisor = supervisor
        self.child = child
        super().__init__(
            f"supervisor {supervisor!r} lists two children with the id {child!r}; "
            f'give each its own: Child(…, id="{child}-2"), Pool("{child}-2"), or use a '
            "DynamicSupervisor"
        )


class DuplicatePool(EverstepError, ValueError):
    """Two pools of one tree have the same name; the store knows pools by their names alone."""

    def __init__(self, pool: str, path: str, other: str) -> None:
        self.pool = pool
        self.path = path
        self.other = other
        super().__init__(
            f"the pools {path!r} and {other!r} have the same name, and a task belongs to one pool, "
            f'by its name; give each its own: Pool("{pool}-2")'
        )


# --- answers to management calls ----------------------------------------------------------


class Unsupervised(EverstepError):
    """Base of the answers with which a supervisor declines a management call."""

    def __init__(self, supervisor: str, child: str, message: str) -> None:
        self.supervisor = supervisor
        self.child = child
        super().__init__(f"supervisor {supervisor!r}, child {child!r}: {message}")


class AlreadyStarted(Unsupervised):
    """`start_child` names a child that runs."""

    def __init__(self, supervisor: str, child: str, incarnation: int) -> None:
        self.incarnation = incarnation
        super().__init__(
            supervisor,
            child,
            f"runs already (incarnation {incarnation}); choose another id, or end it first: "
            f"await running.terminate_child({child!r})",
        )


class AlreadyPresent(Unsupervised):
    """`start_child` names a child that is known and does not run."""

    def __init__(self, supervisor: str, child: str) -> None:
        super().__init__(
            supervisor,
            child,
            f"is known and does not run; start it: await running.restart_child({child!r}), "
            f"or forget it first: await running.delete_child({child!r})",
        )


class NotFound(Unsupervised):
    """No child of this supervisor is called so, or it is of another kind than was asked for."""

    def __init__(self, supervisor: str, child: str, wanted: str = "", kind: str = "") -> None:
        self.wanted = wanted
        self.kind = kind
        super().__init__(
            supervisor,
            child,
            f"it is a {kind}, no {wanted}; running.child({child!r}) shows it"
            if kind
            else "there is none; running.children() lists them, but not those of a supervisor "
            "below: running.supervisor(id)",
        )


class Running(Unsupervised):
    """The call needs a child that does not run."""

    def __init__(self, supervisor: str, child: str) -> None:
        super().__init__(
            supervisor, child, f"runs; end it first: await running.terminate_child({child!r})"
        )


class Restarting(Unsupervised):
    """The call needs a child that is not about to be restarted."""

    def __init__(self, supervisor: str, child: str) -> None:
        super().__init__(
            supervisor,
            child,
            "is about to be restarted; wait for it, or end that: "
            f"await running.terminate_child({child!r})",
        )


class PoolInUse(EverstepError):
    """A pool of this name runs already in this runtime; its tasks are known by that name."""

    def __init__(self, pool: str, path: str) -> None:
        self.pool = pool
        self.path = path
        super().__init__(
            f"the pool {pool!r} runs already as {path!r}; a task belongs to one pool, by its name: "
            "choose another name, or end that one first"
        )


class MaxChildren(EverstepError):
    """A dynamic supervisor has as many children as it may have."""

    def __init__(self, supervisor: str, max_children: int) -> None:
        self.supervisor = supervisor
        self.max_children = max_children
        super().__init__(
            f"supervisor {supervisor!r} has max_children={max_children} already, those that are "
            "being restarted included; try later, or raise it: "
            f"await running.reconfigure(max_children={max(2 * max_children, 1)})"
        )


class SimpleOneForOne(EverstepError):
    """A dynamic supervisor knows its children by reference, not by id."""

    def __init__(self, supervisor: str, call: str) -> None:
        self.supervisor = supervisor
        self.call = call
        super().__init__(
            f"{call} of the dynamic supervisor {supervisor!r} by an id: it knows its children by "
            "reference only; write info = await running.start_child(…), then "
            "await running.terminate_child(info.ref)"
        )


class NoProc(EverstepError):
    """The supervisor, or the pool, does not run, or is stopping."""

    def __init__(self, supervisor: str, kind: str = "supervisor") -> None:
        self.supervisor = supervisor
        self.kind = kind
        super().__init__(
            f"{kind} {supervisor!r} does not run any more; a {kind} that its parent started again "
            f"has a new handle: running.{kind}(id); one that was terminated by a call comes back "
            "with await running.restart_child(id)"
        )


class FailedToStartChild(EverstepError):
    """A child did not start. The original error is the `__cause__`; `reason` is its text."""

    def __init__(self, supervisor: str, child: str, reason: str) -> None:
        self.supervisor = supervisor
        self.child = child
        self.reason = reason
        super().__init__(
            f"supervisor {supervisor!r}: child {child!r} did not start: {reason}; "
            "mend the cause and start it again"
        )


class StartTimeout(EverstepError, TimeoutError):
    """A child did not call `task_status.started()` in time."""

    def __init__(self, child: str, start_timeout: float) -> None:
        self.child = child
        self.start_timeout = start_timeout
        super().__init__(
            f"{child} did not call task_status.started() within start_timeout="
            f"{start_timeout:g} s; call it earlier, or allow more: Child(…, start_timeout=…)"
        )


class EndedBeforeStarted(EverstepError):
    """A child returned without having called `task_status.started()`."""

    def __init__(self, child: str) -> None:
        self.child = child
        super().__init__(
            f"{child} returned without calling task_status.started(); call it when the child is "
            "ready, leave out the parameter task_status, or raise Ignore to be left out"
        )


# --- for the operator ---------------------------------------------------------------------


class RestartLimitExceeded(EverstepError):
    """A supervisor has given up: its children failed more often than it may restart them.

    The error of the child that failed last is the `__cause__`. A pool fails so with a task that
    was given up under `on_give_up="escalate"`; `child` is then the id of the task.
    """

    def __init__(
        self,
        supervisor: str,
        child: str,
        limit: str,
        reason: str,
        kind: str = "supervisor",
    ) -> None:
        self.supervisor = supervisor
        self.child = child
        self.kind = kind
        self.limit = limit
        self.reason = reason
        super().__init__(
            f"pool {supervisor!r} fails with its task {child!r}: {limit}, the last time {reason}; "
            f"the task is paused; mend the cause, then: await runtime.task({child!r}).resume()"
            if kind == "pool"
            else f"supervisor {supervisor!r} gives up: {limit}, the last time {child!r} with "
            f"{reason}; mend the child, or allow more in its Restart(…)"
        )


class SupervisorFailed(EverstepError):
    """A supervisor itself failed, by a bug or by user code in a policy. Its children are down."""

    def __init__(self, supervisor: str, reason: str) -> None:
        self.supervisor = supervisor
        self.reason = reason
        super().__init__(
            f"supervisor {supervisor!r} failed itself and has stopped its children: {reason}; "
            "if that is not raised by a backoff of yours, it is a bug of everstep: report it"
        )
