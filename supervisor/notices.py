"""What a person should know of how a task fared, as lines of the log."""

from __future__ import annotations

import logging

from ..actors.blame import read_blame
from ..actors.exits import Crashed, Exit, Halted
from ..actors.failures import Failure
from ..actors.remedy import way_on
from ..storage.records import Progress, Status

__all__ = ["tell_of_deaths", "tell_of_end"]

_LOG = logging.getLogger("everstep")


def tell_of_end(task_id: str, progress: Progress, ended: Exit) -> None:
    """Say how a life ended that did not end well, and what its task has come to by that."""
    if isinstance(ended, Crashed):
        _tell_of_crash(task_id, progress, ended.failure)
    elif isinstance(ended, Halted) and progress.status is Status.PAUSED:
        _LOG.error(
            "the task %s is paused (%s): %s; to go on: %s",
            task_id, ended.reason, ended.failure, ended.remedy,
        )  # fmt: skip


def _tell_of_crash(task_id: str, progress: Progress, failure: Failure) -> None:
    match progress.status:
        case Status.PAUSED:
            _LOG.error(
                "the task %s is paused (%s): %s; to go on: %s\n%s",
                task_id, progress.reason, failure, way_on(task_id, progress.reason, failure),
                failure.traceback,
            )  # fmt: skip
        case Status.FAILED if failure.was_rejected:
            _LOG.warning(
                "the task %s has failed (%s): %s", task_id, progress.reason, failure.message
            )
        case Status.FAILED:
            _LOG.warning(
                "the task %s crashed for the last time and has failed (%s): %s\n%s",
                task_id, progress.reason, failure, failure.traceback,
            )  # fmt: skip
        case _:
            _LOG.warning("the task %s crashed: %s\n%s", task_id, failure, failure.traceback)


def tell_of_deaths(task_id: str, progress: Progress) -> None:
    """Say that a task was given up for the deaths of its processes, if it was."""
    words = {Status.PAUSED: "is paused", Status.FAILED: "has failed"}.get(progress.status)
    if words is not None:
        failure = read_blame(progress.error or b"{}").failure
        _LOG.error(
            "the task %s %s (%s): %s; to go on: %s",
            task_id, words, progress.reason, failure, way_on(task_id, progress.reason, failure),
        )  # fmt: skip
