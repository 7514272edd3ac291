"""What the parts of `self.ctx` have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .scope import Scope

__all__ = ["Bound"]


class Bound:
    """Belongs to one scope: that of an attempt, or of `run`."""

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
