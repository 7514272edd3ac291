"""What one scope knows of what was called in it: numbers, callers, and what calls have left."""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .late import RunningCall

__all__ = ["Called", "Caller", "Traces", "Unkeyed", "present_caller"]

Caller = weakref.ref[asyncio.Task[object]] | None
"""The asyncio task that a step was called from, if it was one."""


class Unkeyed:
    """The calls without a key of the steps of one name."""

    __slots__ = ("caller", "flights")

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        """Who called last."""
        self.flights: list[Caller] = []
        """Who made those that are under way."""

    def is_ambiguous(self, caller: Caller) -> bool:
        """Whether another asyncio task has such a call under way."""
        return any(not _same(other, caller) for other in self.flights)

    def calls_from(self, caller: Caller) -> bool:
        """Note who calls; whether the last call came from the same."""
        same, self.caller = _same(self.caller, caller), caller
        return same


class Traces:
    """What the calls in a scope have left; made with the first that leaves something."""

    __slots__ = ("effect_keys", "failures", "nested", "running")

    def __init__(self) -> None:
        self.failures: dict[str, int | None] = {}
        """Failed steps and waits by identity, with the scope's `calls` when the failure was raised;
        None where the code has not heard of it."""
        self.nested: set[str] = set()
        """Identities of steps called here that are finished, or were begun without their key."""
        self.effect_keys: set[str] = set()
        self.running: list[RunningCall] = []
        """Calls of effects that are under way in it."""


class Called:
    """Made with the first call in a scope: most attempts call nothing."""

    __slots__ = ("_counts", "_unkeyed")

    def __init__(self) -> None:
        self._counts: dict[str | tuple[str, str], int] = {}
        """By name, or name and key."""
        self._unkeyed: dict[str, Unkeyed] = {}

    def number(self, name: str, key: str) -> int:
        """Count one more call of this name and key; which one it is, from 1."""
        named = (name, key) if key else name
        occurrence = self._counts[named] = self._counts.get(named, 0) + 1
        return occurrence

    def forget(self, name: str, key: str) -> None:
        """Count calls of this name and key from 1 again."""
        self._counts.pop((name, key) if key else name, None)

    def unkeyed(self, name: str, caller: Caller) -> Unkeyed:
        """What is known of calls without a key of this name; `caller` makes one."""
        known = self._unkeyed.get(name)
        if known is None:  # threads of one step may call at once
            known = self._unkeyed.setdefault(name, Unkeyed(caller))
        return known


def present_caller() -> Caller:
    """Who calls just now."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # in a thread without a loop
        return None
    return None if task is None else weakref.ref(task)


def _same(left: Caller, right: Caller) -> bool:
    if left is right:
        return True
    if left is None or right is None:
        return False
    task = left()
    return task is not None and task is right()
