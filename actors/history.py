"""From the rows of a task to its state: as it is now, or as its chapter began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..storage.records import Loaded
from .actor import Actor
from .schema import Schema, split, split_items
from .state import open_view, place

if TYPE_CHECKING:
    from .actor import Anchor
    from .values import Limits

__all__ = ["chapter_view", "present", "present_view"]

_START = "start"


def chapter_view(
    loaded: Loaded, actor: type[Actor], anchor: Anchor | None, limits: Limits, family: Actor | None
) -> Actor:
    """The state with which the present chapter began: where the replay of a flow starts."""
    schema = Schema.of(actor)
    frame = schema.frame(split(loaded.base.state), limits)
    view = open_view(schema, frame, anchor, family=family)
    for seq, data in loaded.appends:
        place(view, {}, split_items(data), seq, _START)
    return view


def present_view(
    loaded: Loaded, actor: type[Actor], anchor: Anchor | None, limits: Limits, family: Actor | None
) -> Actor:
    """The state as the newest commit left it."""
    view = chapter_view(loaded, actor, anchor, limits, family)
    for seq, changes, appends, owner in _since(loaded):
        place(view, split(changes), split_items(appends), seq, owner)
    return view


def present(loaded: Loaded, actor: type[Actor], limits: Limits) -> Actor:
    """A detached actor that shows the state as the newest commit left it."""
    return present_view(loaded, actor, None, limits, None)


def _since(loaded: Loaded) -> list[tuple[int, bytes | None, bytes | None, str]]:
    """What was written after the base, by number: of steps directly below `run`, and of `run`."""
    base = loaded.base.seq
    writes = [
        (row.seq, row.changes, row.appends, row.identity)
        for row in loaded.steps
        if row.seq is not None and row.seq > base and not row.above
    ]
    writes += [(row.seq, row.changes, row.appends, "run") for row in loaded.runs if row.seq > base]
    return sorted(writes, key=lambda write: write[0])
