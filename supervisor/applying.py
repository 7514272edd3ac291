"""Puts what was decided on a task's ledger. At once, on the loop; the caller writes."""

from __future__ import annotations

from collections.abc import Iterable

from ..actors import rows
from ..actors.ledger import Ledger
from ..storage.clock import due_in
from ..storage.records import StepReset, StepRow
from .decisions import Decision

__all__ = ["apply", "cut"]


def apply(ledger: Ledger, decision: Decision, resets: Iterable[StepReset] = ()) -> None:
    """Make the decision, its events and its resets part of the task's next commit."""
    for reset in resets:
        ledger.reset(reset)
    ledger.turn(decision.progress)
    if decision.delay is not None:
        ledger.due(due_in(ledger.clock, decision.delay))
    for told in decision.events:
        ledger.event(told.kind, step=told.step, data=told.data or None)


def cut(ledger: Ledger, steps: Iterable[StepRow]) -> None:
    """End the open attempts of a life that is not there to end them; they are charged nothing."""
    for step in steps:
        ledger.step(rows.let_go(step, ledger.clock.now()))
        ledger.event("step_cut", step=step.identity)
