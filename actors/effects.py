"""What is known of a side effect: that it happened, that it did not, or neither."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from .foreign import is_any_of, is_kind

__all__ = ["Done", "NotDone", "NotDoneRule", "Probe", "says_not_done"]

R = TypeVar("R")


@dataclass(frozen=True)
class Done(Generic[R]):
    """An unknown effect did happen, and this is what it returned."""

    value: R


class NotDone(Exception):
    """The effect did not happen: raised by the function itself, or answered by a probe."""


Probe = Callable[[str], Awaitable[Done[Any] | NotDone]]
NotDoneRule = type[BaseException] | tuple[type[BaseException], ...] | Callable[[Exception], bool]


def says_not_done(rule: NotDoneRule, error: Exception) -> bool:
    """Whether an exception tells, by itself or by this rule, that nothing happened."""
    if is_kind(error, NotDone):
        return True
    if isinstance(rule, (type, tuple)):
        kinds = cast("Any", rule)  # of which a type checker loses sight here
        return is_any_of(error, kinds)
    return bool(rule(error))
