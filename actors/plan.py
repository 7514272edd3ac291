"""A plan: the steps of an actor in the order in which they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..storage.records import Outcome
from .actor import steps_of
from .execution import perform

if TYPE_CHECKING:
    from .definition import StepDefinition
    from .incarnation import Incarnation

__all__ = ["run_plan"]


async def run_plan(life: Incarnation) -> Any:
    """Run the steps that have no checkpoint; what the last one returned.

    A step that stands before a finished one runs on the present state, and an event says so. The
    last step ends the task in its own commit.
    """
    root, recollection = life.root, life.journal.recollection
    steps = steps_of(life.actor)
    names = tuple(steps)
    finished = next((name for name in reversed(names) if _is_finished(life, steps[name])), None)
    output: Any = None
    for name in names:
        call = root.make_call(steps[name], (), {})
        if name == finished:
            finished = None
        elif finished is not None and recollection.get(call.identity) is None:
            life.ledger.event("step_inserted", step=call.identity)
        output = await perform(life, call, ends_plan=name == names[-1])
    return output


def _is_finished(life: Incarnation, step: StepDefinition) -> bool:
    row = life.journal.recollection.get(life.root.prefix + step.name)
    return row is not None and row.outcome is Outcome.COMPLETED
