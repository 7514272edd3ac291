"""Errors of the store, and the base of every error that everstep raises.

They are grouped by who must act: the caller mends the call, the operator mends the place,
a refusal is mended by the runtime itself.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "EverstepError",
    "ForeignStore",
    "LostLease",
    "MailboxFull",
    "NetworkFilesystem",
    "Refused",
    "StaleAttempt",
    "StaleIncarnation",
    "StoreClosed",
    "StoreError",
    "StoreFailed",
    "StoreInUse",
    "StoreMissing",
    "StoreReadOnly",
    "StoreTooNew",
    "StoreUnreadable",
    "Superseded",
    "TaskEnded",
    "TaskExists",
    "TaskNotFound",
    "Undelivered",
]


class EverstepError(Exception):
    """Base of all errors of everstep: facts are attributes, the message is built from them.

    Survives pickling whatever arguments a subclass takes.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, dict(self.__dict__))


def _rebuild(kind: type[EverstepError], args: tuple[Any, ...], facts: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.args = args  # an OSError leaves them to its __init__
    error.__dict__.update(facts)
    return error


# --- for the caller -------------------------------------------------------------------


class TaskExists(EverstepError):
    """`start` was given an id that another task has."""

    def __init__(self, task_id: str, why: str) -> None:
        self.task_id = task_id
        self.why = why
        super().__init__(
            f"a task with the id {task_id!r} exists and {why}; "
            f"choose another id, or look at the existing one: runtime.task({task_id!r})"
        )


class TaskNotFound(EverstepError):
    """No task has this id."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(
            f"no task has the id {task_id!r} in this store; "
            "ids are exact, and given by `start(…, id=…)`"
        )


class TaskEnded(EverstepError):
    """A message was sent to a task that has ended, and so will take none."""

    def __init__(self, task_id: str, status: str) -> None:
        self.task_id = task_id
        self.status = status
        super().__init__(
            f"the task {task_id!r} has ended ({status}) and takes no messages; "
            "send to another task, or start one"
        )


class MailboxFull(EverstepError):
    """A message was sent to a task that has not taken those before it. Nothing is lost."""

    def __init__(self, task_id: str, limit: int) -> None:
        self.task_id = task_id
        self.limit = limit
        super().__init__(
            f"the mailbox of the task {task_id!r} holds {limit} messages that it has not taken; "
            "send again later, or allow more: Runtime(…, mailbox=…)"
        )


class StoreClosed(EverstepError):
    """The store was used before it was opened, after it was closed, or in a forked child."""

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        self.why = why
        super().__init__(f"the store {path} cannot be used: {why}")


# --- for the operator -----------------------------------------------------------------


class StoreError(EverstepError):
    """The store cannot be opened or used as it stands; the message says what to do."""

    remedy: ClassVar[str] = ""

    def __init__(self, path: str, why: str, remedy: str | None = None) -> None:
        self.path = path
        self.why = why
        advice = self.remedy if remedy is None else remedy
        super().__init__(f"{path}: {why}" + (f"; {advice}" if advice else ""))


class StoreInUse(StoreError):
    """Another runtime, in this process or another one, owns this file."""

    remedy = "stop it, or wait for it with Runtime(…, wait=seconds), or open another file"


class StoreMissing(StoreError):
    """The directory of the file does not exist."""

    remedy = "create the directory, or give the path of an existing one"


class StoreReadOnly(StoreError):
    """The file, or its directory, cannot be written by this user."""

    remedy = "give this user the right to write the file and its directory"


class StoreUnreadable(StoreError):
    """The file is no SQLite database, or a damaged one. Its bytes are unchanged."""

    remedy = "restore it from a backup, or give another path"


class ForeignStore(StoreError):
    """The file is a SQLite database that belongs to another program. It is unchanged."""

    remedy = "give everstep a file of its own"


class StoreTooNew(StoreError):
    """The file was written by a newer everstep. It is unchanged."""

    remedy = "install that version or a newer one"


class NetworkFilesystem(StoreError):
    """The file lies on a network file system, where its locks cannot be trusted."""

    remedy = "use a local disk, or accept the risk with Runtime(…, allow_network_fs=True)"


class StoreFailed(StoreError):
    """The store could not commit, or be read, for longer than `store_patience`.

    The runtime stops in order.
    Whether the last writes are in the store is unknown until it is opened again.
    """

    remedy = "mend the cause and start again: what was acknowledged is in the file"


# --- refusals: a write that no longer has the right to happen ---------------------------


class Refused(EverstepError):
    """The store refused one write, and did nothing of it; other writes are not touched."""

    reason: ClassVar[str] = "refused"

    def __init__(self, task_id: str, detail: str) -> None:
        self.task_id = task_id
        self.detail = detail
        super().__init__(f"a write for the task {task_id!r} was refused: {self.reason} ({detail})")


class LostLease(Refused):
    """This process no longer owns the store."""

    reason = "another process has taken over this store"


class StaleIncarnation(Refused):
    """The write comes from an earlier life of the actor than the present one."""

    reason = "a newer incarnation of the actor exists"


class StaleAttempt(Refused):
    """The write, or the call, comes from an attempt that has ended or was replaced."""

    reason = "the attempt has ended, or a newer one has begun"


class Undelivered(Refused):
    """A message cannot be delivered: its receiver has ended, or its mailbox is full."""

    reason = "the message cannot be delivered"

    def __init__(self, task_id: str, status: str | None) -> None:
        super().__init__(task_id, f"ended: {status}" if status else "the mailbox is full")
        self.status = status
        """How the receiver ended; None where its mailbox is full."""


class Superseded(Refused):
    """The task has gone on without this write: it ended, or the step has its checkpoint."""

    reason = "the task has gone on without it"
