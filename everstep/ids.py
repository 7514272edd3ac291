"""What a task is known by: an id that is given or made, and the seed of what derives from it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

from .actors.errors import BadCall

__all__ = ["check_name", "new_id", "new_seed"]

_LONGEST_NAME = 200
_EXAMPLES = {"lane": "ann", "pool": "agents"}


def check_name(what: str, value: object) -> str:
    """The text, if a task can be known by it. Raises BadCall, which names `what` it is."""
    instead = f'{what}="{_EXAMPLES.get(what, "report-7")}"'
    if not isinstance(value, str) or not value:
        raise BadCall(what, value, "is not a text with at least one character", instead)
    if len(value) > _LONGEST_NAME:
        raise BadCall(what, value, f"has more than {_LONGEST_NAME} characters", instead)
    if any(ord(char) < 32 or 127 <= ord(char) < 160 for char in value):
        raise BadCall(what, value, "has control characters", instead)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadCall(what, value, "cannot be written as UTF-8", instead) from None
    return value


def new_id(now: float) -> str:
    """A UUID of version 7 (RFC 9562): ids made later sort after those made before."""
    milliseconds, fraction = divmod(int(now * 1_000_000), 1000)
    below = fraction * 4096 // 1000  # the RFC's method 3: more of the time, then chance
    low = int.from_bytes(secrets.token_bytes(8)) >> 2
    digits = f"{(milliseconds << 80) | (7 << 76) | (below << 64) | (2 << 62) | low:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def new_seed(task_id: str, chance: Callable[[], float] | None) -> bytes:
    """16 bytes from which the task's own chance and operation ids are derived.

    With an injected `chance` they follow from it and the id, which no other task has.
    """
    if chance is None:
        return secrets.token_bytes(16)
    drawn = "".join(f"{chance():.17f}" for _ in range(2))
    return hashlib.blake2b(f"{task_id}\n{drawn}".encode(), digest_size=16).digest()
