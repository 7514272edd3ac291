"""The code that a life runs: `run`, the steps of a plan, or the messages of a server."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from .actor import is_flow, is_server
from .plan import run_plan
from .result import run_of
from .serving import serve

if TYPE_CHECKING:
    from ..storage.records import Loaded
    from .incarnation import Incarnation

__all__ = ["code_of", "load"]


def code_of(life: Incarnation) -> Coroutine[Any, Any, Any]:
    """What the actor of this life does from beginning to end."""
    if is_flow(life.actor):
        return run_of(life.root.view)
    return serve(life) if is_server(life.actor) else run_plan(life)


async def load(life: Incarnation) -> Loaded:
    """What the store remembers of the task, as far as its code needs it."""
    store, key = life.environment.store, life.ledger.row.key
    return await store.load(key, flow=is_flow(life.actor), recent=is_server(life.actor))
