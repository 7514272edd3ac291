"""Errors that a handle or the runtime raises, for those who wait for a task."""

from __future__ import annotations

from .storage.errors import EverstepError

__all__ = [
    "AlreadyAnswered",
    "NotAsked",
    "NotStarted",
    "RuntimeClosed",
    "ScheduleNotFound",
    "TaskCancelled",
    "TaskFailed",
    "TaskPaused",
    "WrongAnswer",
]


class TaskFailed(EverstepError):
    """The task was given up. Carries the facts of the error that was the reason.

    `step` used up its `attempts`; where it is None, `run` itself failed, and `attempts` counts
    its crashes. `error` is the qualified name of the original exception's class. With `rejected`
    it was the no of a person, which stays a no for a task that is resumed.
    """

    def __init__(
        self,
        task_id: str,
        *,
        reason: str,
        step: str | None,
        attempts: int,
        error: str,
        message: str,
        traceback: str,
        rejected: bool = False,
    ) -> None:
        self.task_id = task_id
        self.reason = reason
        self.step = step
        self.attempts = attempts
        self.error = error
        self.message = message
        self.traceback = traceback
        self.rejected = rejected
        if rejected:
            super().__init__(f"the task {task_id!r} failed ({reason}): {message}")
            return
        where = f" in step {step} ({_attempts_made(attempts)})" if step else ""
        worded = _worded(error, message)
        then = "\n" if "\n" in worded else "; "
        super().__init__(
            f"the task {task_id!r} failed ({reason}){where}: {worded}{then}"
            f"mend the cause, then: await runtime.task({task_id!r}).resume()"
        )
        if traceback:
            self.add_note(f"where it failed, in the task:\n{traceback}")


class TaskPaused(EverstepError):
    """The task waits for a person. `result(through_pause=True)` waits on instead."""

    def __init__(
        self,
        task_id: str,
        *,
        reason: str,
        step: str | None,
        attempts: int,
        error: str | None,
        message: str,
        traceback: str,
        to_go_on: str,
    ) -> None:
        self.task_id = task_id
        self.reason = reason
        self.step = step
        self.attempts = attempts
        self.error = error
        self.message = message
        self.traceback = traceback
        what = f": {_worded(error, message)}" if error else ""
        super().__init__(f"the task {task_id!r} is paused ({reason}){what}; to go on: {to_go_on}")


class TaskCancelled(EverstepError):
    """The task was cancelled by an operator."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        super().__init__(
            f"the task {task_id!r} was cancelled; who did it is in its events; "
            f"to let it go on: await runtime.task({task_id!r}).resume()"
        )


class NotStarted(EverstepError):
    """One of many actors cannot be started. Its cause is the error that `start` would raise.

    `started` tells with how many this call is through: the first ones, which are in the store. Of
    the others, those whose ids existed before are there too, which the message does not know.
    """

    def __init__(self, index: int, actor: str, started: int, why: str) -> None:
        self.index = index
        self.actor = actor
        self.started = started
        self.why = why
        super().__init__(
            f"actors[{index}], of {actor}, cannot be started: {why}; "
            f"{_first(started)} the store: mend it, and start the others"
        )


class NotAsked(EverstepError):
    """An answer to a question that is not open: it never was, or no longer is."""

    def __init__(self, task_id: str, question: str, why: str) -> None:
        self.task_id = task_id
        self.question = question
        self.why = why
        super().__init__(
            f"the task {task_id!r} does not ask {question!r}: {why}; "
            "what is asked stands in runtime.inbox()"
        )


class AlreadyAnswered(EverstepError):
    """A second answer to one question. The first one stands."""

    def __init__(self, task_id: str, question: str, by: str | None) -> None:
        self.task_id = task_id
        self.question = question
        self.by = by
        who = f" by {by}" if by else ""
        super().__init__(
            f"the question {question!r} of the task {task_id!r} was answered already{who}; "
            "that answer stands"
        )


class WrongAnswer(EverstepError, ValueError):
    """An answer that does not fit the schema of its question, which stays open."""

    def __init__(self, task_id: str, question: str, why: str) -> None:
        self.task_id = task_id
        self.question = question
        self.why = why
        super().__init__(
            f"the question {question!r} of the task {task_id!r} cannot be answered so: {why}; "
            "answer again, by the schema that runtime.inbox() shows"
        )


class ScheduleNotFound(EverstepError):
    """No schedule has this name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"no schedule has the name {name!r} in this store; names are exact, and stand in "
            "`await runtime.schedules()`"
        )


class RuntimeClosed(EverstepError):
    """The runtime was used before it was entered, after it was left, or on another event loop."""

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        self.why = why
        super().__init__(
            f"the runtime of {path} cannot be used: {why}; "
            "use it inside `async with Runtime(…) as runtime:`, on the loop that entered it"
        )


def _first(started: int) -> str:
    """Which of many actors are durable, in words."""
    if started == 0:
        return "none of them is in"
    return "the first one alone is in" if started == 1 else f"the first {started} alone are in"


def _attempts_made(attempts: int) -> str:
    """How often a step was tried, in words."""
    return "its only attempt" if attempts == 1 else f"all of {attempts} attempts"


def _worded(error: str, message: str) -> str:
    """An error in one line, with its message where it has one."""
    return f"{error}: {message}" if message else error
