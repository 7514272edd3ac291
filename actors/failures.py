"""What went wrong, as facts that last: the same live and after a restart."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic_core import from_json, to_json

from ..storage.errors import EverstepError, Refused
from ..storage.record import record
from .foreign import bases_of, is_kind, origins, qualified, single, traceback_of, words_of

__all__ = [
    "ChildCancelled",
    "ChildEnded",
    "ChildFailed",
    "Failure",
    "HalfDone",
    "HandlerFailed",
    "MessageRefused",
    "ParentPaused",
    "Rejected",
    "StepFailed",
    "failure_of",
    "found_in",
    "read_failure",
    "recorded_in",
]

_TRACEBACK_LIMIT = 8_000
_MESSAGE_LIMIT = 2_000


@record
class Failure:
    """Facts of an exception: its class with all bases, its message, its traceback as text."""

    kind: str
    """Qualified name of the exception's class."""
    message: str
    bases: tuple[str, ...] = ()
    traceback: str = ""
    final: bool = False
    """Trying again is pointless: the error is of a kind that is never retried."""

    def is_a(self, kind: type[BaseException]) -> bool:
        """Whether the exception was an instance of `kind`, by qualified name."""
        return qualified(kind) in self.bases

    @property
    def was_rejected(self) -> bool:
        """Whether it was the no of a person, which stays a no for a task that is resumed."""
        return self.is_a(Rejected)

    def encoded(self) -> bytes:
        return to_json(self)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


def read_failure(data: bytes) -> Failure:
    """The facts that `Failure.encoded` wrote."""
    facts = from_json(data)
    return Failure(
        kind=facts["kind"],
        message=facts["message"],
        bases=tuple(facts.get("bases", ())),
        traceback=facts.get("traceback", ""),
        final=facts.get("final", False),
    )


def failure_of(error: BaseException, *, final: bool = False) -> Failure:
    """The facts of an exception; of a group with a single member, those of the member.

    Whatever code of its own the exception has, there are facts, and they can be stored.
    """
    error = single(error)
    return Failure(
        kind=qualified(type(error)),
        message=words_of(error)[:_MESSAGE_LIMIT],
        bases=tuple(qualified(kind) for kind in bases_of(error) if kind is not object),
        traceback=traceback_of(error)[-_TRACEBACK_LIMIT:],
        final=final,
    )


class StepFailed(EverstepError):
    """A step has used up its attempts. Carries the same facts live and after a restart.

    `failure.is_a(SomeError)` answers what the last attempt failed with.
    """

    def __init__(self, step: str, identity: str, attempts: int, failure: Failure) -> None:
        self.step = step
        self.identity = identity
        self.attempts = attempts
        self.failure = failure
        times = "in its only attempt" if attempts == 1 else f"in all of {attempts} attempts"
        super().__init__(f"step {step} failed {times}, the last time with {failure}")

    def is_a(self, kind: type[BaseException]) -> bool:
        """Whether the last attempt failed with an instance of `kind`."""
        return self.failure.is_a(kind)


_UNTOLD = Failure("MemoryError", "there was no memory to say more")


class HalfDone(Refused):
    """A fault came while a write was put together: nothing of it is written, nor after it."""

    reason = "a fault came while it was put together"

    def __init__(self, task_id: str) -> None:
        self.failure = _UNTOLD
        super().__init__(task_id, "the task begins again from what is stored")

    @classmethod
    def by(cls, task_id: str, fault: BaseException) -> HalfDone:
        """The same, with what is known of the fault."""
        broken = cls(task_id)
        broken.failure = failure_of(fault)
        return broken


class Rejected(EverstepError):
    """A person said no to a step with `approval=`, which has not run. Never retried.

    Carries the same facts live and after a restart: a no stays a no.
    """

    def __init__(
        self,
        step: str,
        identity: str,
        by: str | None,
        comment: str | None,
        *,
        in_plan: bool = False,
    ) -> None:
        self.step = step
        self.identity = identity
        self.by = by
        self.comment = comment
        self.in_plan = in_plan
        said = f", who says: {comment}" if comment else ""
        then = "start a new task to ask again"
        if not in_plan:
            then = "go on without it in `run` (except Rejected: …), or start a new task"
        super().__init__(
            f"step {identity} was rejected by {by or 'somebody who gave no name'}{said}; "
            f"it has not run: {then}"
        )


class HandlerFailed(EverstepError):
    """A handler used up its attempts at a message; the state of the server is unchanged.

    A repeat with the same request id raises the same.
    """

    def __init__(
        self, server: str, handler: str, request_id: str, attempts: int, failure: Failure
    ) -> None:
        self.server = server
        self.handler = handler
        self.request_id = request_id
        self.attempts = attempts
        self.failure = failure
        times = "in its only attempt" if attempts == 1 else f"in all of {attempts} attempts"
        super().__init__(
            f"{handler} of the server {server!r} failed {times}, the last time with {failure}; "
            "its state is unchanged: mend the cause and ask again, with another request id"
        )

    def is_a(self, kind: type[BaseException]) -> bool:
        """Whether the last attempt failed with an instance of `kind`."""
        return self.failure.is_a(kind)


class MessageRefused(EverstepError):
    """A server could not handle a message: it has no such handler, or not with these arguments."""

    def __init__(self, server: str, handler: str, request_id: str, why: str) -> None:
        self.server = server
        self.handler = handler
        self.request_id = request_id
        self.why = why
        super().__init__(
            f"the server {server!r} refused a message for {handler}: {why}; "
            "ask as its class is written now, with another request id"
        )


class ChildEnded(EverstepError):
    """A child has ended without a result. Tells the same live and after a restart."""

    def __init__(self, task_id: str, identity: str, words: str) -> None:
        self.task_id = task_id
        """The id of the child."""
        self.identity = identity
        """That of the wait for it."""
        super().__init__(words)


class ChildFailed(ChildEnded):
    """A child was given up: `await child.result()` has no result to return.

    `step` used up its `attempts`; where it is None, `run` itself failed, and `attempts` counts its
    crashes. `failure` tells what the child failed with. Where this leaves `run`, the task fails at
    once; an operator who lets both go on, the child first, has the result awaited anew.
    """

    def __init__(
        self,
        task_id: str,
        identity: str,
        *,
        reason: str,
        step: str | None,
        attempts: int,
        failure: Failure,
    ) -> None:
        self.reason = reason
        self.step = step
        self.attempts = attempts
        self.failure = failure
        where = f" in step {step}" if step else ""
        super().__init__(
            task_id,
            identity,
            f"the child {task_id!r} failed ({reason}){where}: {failure}; go on without it "
            f"(except ChildFailed: …){_mended(task_id, failure)}",
        )

    def is_a(self, kind: type[BaseException]) -> bool:
        """Whether the child failed with an instance of `kind`."""
        return self.failure.is_a(kind)


def _mended(task_id: str, failure: Failure) -> str:
    """How a child would go on, where that could help."""
    if failure.was_rejected:
        return ""
    return f", or mend the cause, then: await runtime.task({task_id!r}).resume()"


class ChildCancelled(ChildEnded):
    """A child was cancelled by an operator: `await child.result()` has no result to return."""

    def __init__(self, task_id: str, identity: str) -> None:
        super().__init__(
            task_id,
            identity,
            f"the child {task_id!r} was cancelled; who did it is in its events; go on without it "
            f"(except ChildCancelled: …), or: await runtime.task({task_id!r}).resume()",
        )


class ParentPaused(EverstepError):
    """Why a child is paused that follows its parent: that is. It goes on when that does."""

    def __init__(self, parent: str) -> None:
        self.parent = parent
        """The id of the parent."""
        super().__init__(
            f"its parent {parent!r} is paused, and it follows that: "
            f"await runtime.task({parent!r}).resume() lets both go on"
        )


def recorded_in(error: BaseException) -> Iterator[str]:
    """The identity of each recorded failure in an exception, as `found_in` finds it."""
    for one in origins(error):
        if is_kind(one, StepFailed) or is_kind(one, ChildEnded):
            yield one.identity
        elif is_kind(one, HandlerFailed) or is_kind(one, MessageRefused):
            yield one.request_id


def found_in(error: BaseException) -> Iterator[StepFailed]:
    """Every StepFailed in an exception: itself, its causes, its contexts, members of groups."""
    return (one for one in origins(error) if is_kind(one, StepFailed))
