"""Names of steps and effects that stay the same over attempts, restarts and processes."""

from __future__ import annotations

import functools
import hashlib
import re
import uuid
from typing import Final

__all__ = ["anew", "chapter_prefix", "identity_of", "inside", "name_of", "stable_id"]

_SPECIAL = re.compile(r"[%/#:@]")
_OUTERMOST = re.compile(r"(?:@\d+/)?([^/#:@]*)")
_LONGEST_KEY = 120


def chapter_prefix(chapter: int) -> str:
    """What every identity of a chapter begins with; nothing in the first one."""
    return "" if chapter == 1 else f"@{chapter}/"


def inside(identity: str) -> str:
    """What the identity of every step called by this step begins with."""
    return f"{identity}/"


def identity_of(prefix: str, name: str, key: str, occurrence: int) -> str:
    """The identity of a call: `prefix`, name, key, and which call of these it is (from 1)."""
    identity = prefix + _quoted_name(name)
    if key:
        identity += ":" + _quoted(_short(key))
    return identity if occurrence == 1 else f"{identity}#{occurrence}"


def anew(identity: str, failures: int) -> str:
    """The identity of what is done anew after so many failures; at first itself."""
    return f"{identity}@{failures}" if failures else identity


def name_of(identity: str) -> str:
    """The name of the step; of one that was called below another step, the name of that."""
    found = _OUTERMOST.match(identity)
    return identity if found is None else found[1]


def stable_id(seed: bytes, *parts: str) -> str:
    """A UUID (version 8) made of `seed` and `parts`: the same ones give the same id."""
    hashed = hashlib.blake2b(seed, digest_size=16, person=b"everstep")
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "big") + data)
    number = int.from_bytes(hashed.digest(), "big")
    number = number & ~(0xF << 76) | 8 << 76
    number = number & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=number))


def _quoted(text: str) -> str:
    if _SPECIAL.search(text) is None:
        return text
    return _SPECIAL.sub(lambda found: f"%{ord(found.group()):02X}", text)


_quoted_name: Final = functools.lru_cache(maxsize=4096)(_quoted)


def _short(key: str) -> str:
    """The key itself, or its beginning and a digest of the whole where it is long."""
    if len(key) <= _LONGEST_KEY:
        return key
    return key[:80] + "~" + hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
