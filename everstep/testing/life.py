"""One life of a process under test, and the moments at which it may end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from ..actors.scope import CURRENT
from ..storage.clock import Clock, SystemClock
from ..storage.interface import Store
from ..storage.sqlite import SqliteStore
from .trail import Entry, Trail

__all__ = ["Died", "Life", "boundary", "die", "note", "noted"]


class Died(BaseException):
    """Raised through user code whose life has only pretended to end. Nobody should catch it."""


class Life:
    """From the start of a process to its end, in order or not.

    Passes *boundaries*, numbered from 1, and dies at the one numbered `die_at`. A store from
    `store()` has one before each commit and one after it, when it is durable and nobody has been
    told. Code under test adds its own with `boundary("name")`. To die is `end`, which does not
    return in a real process.
    """

    def __init__(
        self,
        path: Path,
        trail: Trail,
        *,
        end: Callable[[], None],
        number: int = 1,
        die_at: int | None = None,
        clock: Clock | None = None,
        file: Store | None = None,
    ) -> None:
        self.path = path
        """The file of the store."""
        self.number = number
        self.clock = SystemClock() if clock is None else clock
        self.passed = 0
        """How many boundaries lie behind."""
        self.dead = False
        self._trail = trail
        self._end = end
        self._die_at = die_at
        self._file = file

    def store(self, **options: Any) -> Store:
        """The store of this life, to be given to the runtime: `Runtime(…, store=life.store())`.

        `options` go to SqliteStore.
        """
        from .watched import WatchedStore

        file = self._file or SqliteStore(self.path, clock=self.clock, **options)
        return WatchedStore(file, self)

    def boundary(self, name: str) -> None:
        """Pass a moment at which this life may end. Raises Died if it has."""
        if not self.dead:
            self.passed += 1
            self._record("boundary", name, {"number": self.passed})
            if self.passed == self._die_at:
                self.die()
        if self.dead:
            raise Died

    def die(self) -> None:
        """End this life here and now. Raises Died where it only pretends to end."""
        if not self.dead:
            self.dead = True
            self._end()
        raise Died

    def note(self, name: str, /, **facts: Any) -> None:
        """Record that something happened in the world; the dead record nothing.

        Called in a step or in `run`, it adds `task`, `step` (its identity) and `attempt`.
        """
        scope = CURRENT.get()
        if scope is not None:
            here = {"task": scope.life.task_id, "step": scope.identity, "attempt": scope.attempt}
            facts = here | facts
        self._record("fact", name, facts)

    def noted(self, name: str, /, **facts: Any) -> list[Entry]:
        """What this life and those before it noted under this name and with these facts."""
        return [entry for entry in self._trail if entry.says(name, facts)]

    def durable(self, name: str, /, **facts: Any) -> None:
        """Record that an event of a task is in the store from now on."""
        self._record("durable", name, facts)

    def _record(self, kind: str, name: str, facts: dict[str, Any]) -> None:
        if not self.dead:
            self._trail.append(Entry(self.number, kind, name, facts))

    # --- the life that this process is living -----------------------------------------

    def __enter__(self) -> Self:
        _PRESENT.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _PRESENT.remove(self)


_PRESENT: list[Life] = []  # a life is the whole process's, so what it is is known to all of it


def boundary(name: str) -> None:
    """Pass a moment at which the present life may end. Does nothing outside of one."""
    if _PRESENT:
        _PRESENT[-1].boundary(name)


def die() -> None:
    """End the present life here and now: the act of a task that kills its process."""
    if _PRESENT:
        _PRESENT[-1].die()


def note(name: str, /, **facts: Any) -> None:
    """Record that something happened in the world. Does nothing outside of a life."""
    if _PRESENT:
        _PRESENT[-1].note(name, **facts)


def noted(name: str, /, **facts: Any) -> list[Entry]:
    """What was noted so far under this name and with these facts; nothing outside of a life."""
    return _PRESENT[-1].noted(name, **facts) if _PRESENT else []
