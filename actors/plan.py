"""A plan: the steps of an actor in the order in which they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..storage.records import Outcome
from .actor import steps_of
from .execution import perform

if TYPE_CHECKING:
    from .incarnation import Incarnation

__all__ = ["run_plan"]


async def run_plan(life: Incarnation) -> Any:
    """Run the steps that have no checkpoint; what the last one returned.

    A step that stands before a finished one runs on the present state, and an event says so. The
    last step ends the task in its own commit.
    """
    root, recollection = life.root, life.journal.recollection
    definitions = list(steps_of(life.actor).values())
    done = [_has_checkpoint(life, definition.name) for definition in definitions]
    output: Any = None
    for place, definition in enumerate(definitions):
        call = root.make_call(definition, (), {})
        inserted = not done[place] and any(done[place:])
        if inserted and recollection.get(call.identity) is None:
            life.ledger.event("step_inserted", step=call.identity)
        last = place + 1 == len(definitions)
        output = await perform(life, call, ends_plan=last)
    return output


def _has_checkpoint(life: Incarnation, name: str) -> bool:
    row = life.journal.recollection.get(life.root.prefix + name)
    return row is not None and row.outcome is Outcome.COMPLETED
