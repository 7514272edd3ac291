"""Views that have been touched in part, filled where somebody reads `__dict__` as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .actor import Actor
    from .state import View

__all__ = ["fill", "filling", "view_of"]


def view_of(actor: Actor) -> View | None:
    """What ties an actor to the runtime that runs it."""
    try:
        return actor.__everstep__
    except AttributeError:
        return None


def fill(actor: Actor) -> None:
    """Decode every field of a view that has not been touched yet, and put all in their order."""
    view = view_of(actor)
    if view is None:
        return
    present, names = vars(actor), view.schema.names
    if tuple(present) == names:
        return
    whole = {name: present[name] if name in present else view.read(name) for name in names}
    object.__setattr__(actor, "__dict__", whole)


def filling(serializer: Any) -> Any:
    """A model serializer that is given the whole state."""
    if getattr(serializer, "__everstep_fills__", False):
        return serializer

    def filled(actor: Any, *rest: Any) -> Any:
        fill(actor)
        return serializer(actor, *rest)

    filled.__everstep_fills__ = True  # type: ignore[attr-defined]  # read above
    return filled
