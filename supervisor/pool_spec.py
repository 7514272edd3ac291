"""What a pool of tasks is to be, as a frozen record."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from ..actors.backoff import exponential
from ..actors.errors import BadCall
from .restart import Restart, check_whole

__all__ = ["DEFAULT_RESTART", "Pool"]

DEFAULT_RESTART = Restart(3, backoff=exponential(1, maximum=60))


@dataclass(frozen=True, slots=True)
class Pool:
    """A supervisor of tasks: how many run at once, and how they are started again.

    What is beyond `max_running` waits in the store and costs no memory.

    Raises BadCall for a value that makes no sense.

    >>> Pool("reports", max_running=20).restart.max_restarts
    3
    """

    name: str = "tasks"
    _: KW_ONLY
    max_running: int = 1000
    restart: Restart = DEFAULT_RESTART

    def __post_init__(self) -> None:
        _check_name(self.name)
        check_whole("max_running", self.max_running, 1, "max_running=1000")
        _check_restart(self.restart)


def _check_name(value: object) -> None:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise BadCall("name", value, "is not a printable name", "name='tasks'")


def _check_restart(value: object) -> None:
    if not isinstance(value, Restart):
        raise BadCall("restart", value, "is not a policy", "restart=Restart(3)")
