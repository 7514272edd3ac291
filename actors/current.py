"""Which scope's code is running: known to child tasks and to our threads, which inherit it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .scope import Scope

__all__ = ["CURRENT"]

CURRENT: ContextVar[Scope | None] = ContextVar("everstep_scope", default=None)
"""The scope whose code is running."""
