"""What one scope knows of what was called in it: numbers, callers, and what calls have left."""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .late import RunningCall
    from .scope import Call

__all__ = ["Called", "Caller", "Traces", "present_caller"]

Caller = weakref.ref[asyncio.Task[object]] | None
"""The asyncio task that a step was called from, if it was one."""


class _Unkeyed:
    """The calls without a key of the steps of one name."""

    __slots__ = ("caller", "flights")

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        """Who called last."""
        self.flights: list[Call] = []


class Traces:
    """What the calls in a scope have left; made with the first that leaves something."""

    __slots__ = ("effect_keys", "failures", "nested", "placed", "running")

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        """Failed steps by identity, with the scope's `calls` when the failure was raised."""
        self.nested: set[str] = set()
        """Identities of steps called here that are finished, or were begun without their key."""
        self.placed: dict[str, int] = {}
        """The number of the newest checkpoint that the view shows, by field."""
        self.effect_keys: set[str] = set()
        self.running: list[RunningCall] = []
        """Calls of effects that are under way in it."""


class Called:
    """Made with the first call in a scope: most attempts call nothing."""

    __slots__ = ("_counts", "_unkeyed")

    def __init__(self) -> None:
        self._counts: dict[str | tuple[str, str], int] = {}
        """By name, or name and key."""
        self._unkeyed: dict[str, _Unkeyed] = {}

    def number(self, name: str, key: str) -> int:
        """Count one more call of this name and key; which one it is, from 1."""
        named = (name, key) if key else name
        occurrence = self._counts[named] = self._counts.get(named, 0) + 1
        return occurrence

    def forget(self, name: str, key: str) -> None:
        """Count calls of this name and key from 1 again."""
        self._counts.pop((name, key) if key else name, None)

    # --- calls without a key ----------------------------------------------------------

    def is_ambiguous(self, name: str, caller: Caller) -> bool:
        """Whether another asyncio task has a call without a key of this name under way."""
        known = self._unkeyed.get(name)
        if known is None or not known.flights:
            return False
        return any(not _same(call.caller, caller) for call in known.flights)

    def calls_from(self, name: str, caller: Caller) -> bool:
        """Note who calls; whether the last call of this name came from the same, or was none."""
        known = self._unkeyed.get(name)
        if known is None:  # threads of one step may call at once
            known = self._unkeyed.setdefault(name, _Unkeyed(caller))
        same = _same(known.caller, caller)
        known.caller = caller
        return same

    def takes_off(self, call: Call) -> None:
        """A call without a key has begun."""
        self._unkeyed[call.definition.name].flights.append(call)

    def has_landed(self, call: Call) -> None:
        self._unkeyed[call.definition.name].flights.remove(call)


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
