"""Checks of what a specification is given; each raises BadCall with what to write instead."""

from __future__ import annotations

import math
from typing import Any, Final, get_args

from ..actors.backoff import number_of
from ..actors.errors import BadCall

__all__ = ["MOST", "check_name", "check_option", "check_seconds", "check_whole"]

MOST: Final = (1 << 63) - 1
"""No count is larger, so that the store can be asked for as many."""


def check_whole(name: str, value: object, least: int, instead: str) -> None:
    """Raise unless it is a whole number, not less than `least`, that the store can hold."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadCall(name, value, "is not a whole number", instead)
    if value < least:
        raise BadCall(name, value, f"is less than {least}", instead)
    if value > MOST:
        raise BadCall(name, value, f"is more than {MOST}", instead)


def check_seconds(name: str, value: object, instead: str, *, zero: bool = False) -> None:
    """Raise unless it is a finite number of seconds above zero; `zero`: or zero itself."""
    seconds = number_of(value)
    if seconds is None:
        raise BadCall(name, value, "is not a number of seconds", instead)
    if not (0 <= seconds < math.inf) or (seconds == 0 and not zero):
        why = "is negative or not finite" if zero else "is not above zero and finite"
        raise BadCall(name, value, why, instead)


def check_option(name: str, value: object, options: Any) -> None:
    """Raise unless it is one of the options of a Literal."""
    known: tuple[str, ...] = get_args(options)
    if value not in known:
        raise BadCall(name, value, "is unknown", " or ".join(map(repr, known)))


def check_name(name: str, value: object, instead: str) -> None:
    """Raise unless it is a text that can be shown in one line."""
    if not isinstance(value, str) or not value or not value.isprintable():
        raise BadCall(name, value, "is not a printable name", instead)
