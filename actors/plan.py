"""A plan: the steps of an actor in the order in which they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .actor import check_plan, steps_of
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
    check_plan(life.actor)  # it may have lost its steps since it was started
    root, recollection = life.root, life.journal.recollection
    steps = tuple(steps_of(life.actor).values())
    finished, last = _newest_finished(life, steps), steps[-1]
    output: Any = None
    for step in steps:
        call = root.make_call(step, (), {})
        if step is finished:
            finished = None
        elif finished is not None and recollection.get(call.identity) is None:
            life.ledger.event("step_inserted", step=call.identity)
        output = await perform(life, call, ends_plan=step is last)
    return output


def _newest_finished(life: Incarnation, steps: Sequence[StepDefinition]) -> StepDefinition | None:
    """The last step that has a checkpoint."""
    prefix, recollection = life.root.prefix, life.journal.recollection
    return next((one for one in reversed(steps) if recollection.awaits(prefix + one.name)), None)
