"""The part of `self.ctx` by which an actor tells of itself, and knows which one it is."""

from __future__ import annotations

import logging

from .bound import Bound
from .errors import BadCall, checked_text
from .streaming import Stream

__all__ = ["Telling", "named"]

_LOG = logging.getLogger("everstep.task")


class Telling(Bound):
    """What of `ctx` leaves nothing in the task's state, so that nothing of it is recorded."""

    __slots__ = ()

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self._scope.life.task_id

    @property
    def attempt(self) -> int:
        """Which attempt of its step this is, from 1; in `run` always 1."""
        return self._scope.present().attempt

    @property
    def suspended(self) -> bool:
        """Whether the task has left memory: what its code does now is not heard any more."""
        return self._scope.life.suspended

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that names the task and the step. Says the same again in a replay."""
        scope = self._scope.present()
        facts = {"task_id": self.task_id, "step": scope.identity or "run"}
        return logging.LoggerAdapter(_LOG, facts)

    def heartbeat(self) -> None:
        """A sign of life, for a step with `heartbeat=`. Costs nothing elsewhere."""
        self._scope.present().beat()

    def stream(self, name: str) -> Stream:
        """Where this attempt writes many small pieces, such as the tokens of a model.

        They do not wait for the step's checkpoint: `task.stream(name)` reads them, from any
        offset, while the attempt is in the air, and after it, marked with the attempt.

        Raises BadCall in `run` outside a step, and StaleAttempt.
        """
        return self._scope.present().stream(named("stream", name))


def named(what: str, value: object) -> str:
    """A name that is given to `ctx`. Raises BadCall."""
    if not isinstance(value, str) or not value or len(value) > 200:
        raise BadCall(what, value, "must be a text of 1 to 200 characters", f'{what}="mail"')
    return checked_text(what, value)
