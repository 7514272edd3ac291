"""What a pool of tasks is to be, as a frozen record."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from ..actors.backoff import exponential
from ..actors.errors import BadCall
from .restart import Restart, check_meaning, check_whole

__all__ = ["DEFAULT_RESTART", "Pool"]

DEFAULT_RESTART = Restart(3, backoff=exponential(1, maximum=60))
_NO_MEANING = "has no meaning in a pool, which counts the crashes of each task since it got on"


@dataclass(frozen=True, slots=True)
class Pool:
    """A supervisor of tasks: how many run at once, and how they are started again.

    What is beyond `max_running` waits in the store and costs no memory.

    Raises BadCall for a value that makes no sense, BadCombination for a `restart` with options
    that only services have.

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
        check_meaning(f"Pool({self.name!r})", self.restart, ("within", "max_failures"), _NO_MEANING)


def _check_name(value: object) -> None:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise BadCall("name", value, "is not a printable name", "name='tasks'")
