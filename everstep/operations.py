"""What an operator does to a task: each is one commit, with an event that says who and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .actors.effects import Done, NotDone
from .actors.errors import BadCall
from .actors.exits import Halted
from .actors.failures import failure_of
from .actors.ledger import Ledger
from .actors.timers import is_wait
from .actors.values import ValueCodec
from .session import Session
from .storage.errors import EverstepError, Refused, StaleIncarnation
from .storage.kin import PARENT_PAUSED, Asks
from .storage.records import (
    ENDED,
    EffectRow,
    EffectState,
    Progress,
    Status,
    StepReset,
    TaskRow,
)
from .supervisor.applying import apply
from .supervisor.decisions import Decision, Told, after_halt, at_cancel, at_resume, at_settle
from .supervisor.life import Life

__all__ = ["cancel", "pause", "resume", "settle"]

_TRIES = 20
"""How often a task may move on between reading it and writing to it."""
_RESUMED = frozenset({Status.PAUSED, Status.FAILED, Status.CANCELLED})


async def cancel(session: Session, task_id: str, by: str | None, why: str | None) -> bool:
    """End the task as cancelled, then cut what runs of it. False where it had ended before."""

    def decide(progress: Progress) -> Decision:
        return at_cancel(progress, by=by, why=why)

    for tries in range(_TRIES, 0, -1):
        row = await session.row(task_id)
        if row.progress.status in ENDED:
            return False
        try:
            life = session.pools.life(row.key)
            if life is None:
                await _written(session, row, decide(row.progress))
                return True
            if await session.pools.end(life, decide):
                return True
        except Refused:
            if tries == 1:
                raise
    raise _restless(task_id)


async def pause(session: Session, task_id: str, reason: str, error: EverstepError) -> bool:
    """Pause the task: steps and effects that run have `grace` seconds to come to their end.

    Whether it is paused for this reason; not yet where it is about to end its life, and not where
    it is paused for another one, or has ended.
    """
    halted = Halted(reason, failure_of(error), f"await runtime.task({task_id!r}).resume()")

    def decide(progress: Progress) -> Decision:
        return after_halt(progress, halted)

    for tries in range(_TRIES, 0, -1):
        row = await session.row(task_id)
        if row.progress.status in ENDED or row.progress.status is Status.PAUSED:
            return row.progress.reason == reason
        try:
            life = session.pools.life(row.key)
            if life is None:
                await _written(session, row, decide(row.progress))
                return True
            if life.is_draining:
                return False
            if life.incarnation is not None and life.incarnation.is_acting:
                life.incarnation.halt(life.incarnation.root, reason, error, "resume()")
                return False
            if await session.pools.end(life, decide):
                return True
        except Refused:
            if tries == 1:
                raise
    raise _restless(task_id)


async def resume(
    session: Session, task_id: str, by: str | None, why: str | None, *, along: bool = False
) -> bool:
    """Queue a paused, failed or cancelled task with fresh budgets. False where it goes on already.

    `along`: with its parent, as long as that goes on, and if it was paused with it.
    Raises BadCall for a task that has succeeded.
    """
    for tries in range(_TRIES, 0, -1):
        row = await session.row(task_id)
        status = row.progress.status
        if along and row.progress.reason != PARENT_PAUSED:
            return False
        if status is Status.SUCCEEDED:
            instead = "start(…) with a new id, to do it again"
            raise BadCall("task", task_id, "has succeeded and cannot be resumed", instead)
        if status not in _RESUMED:
            return False
        resets = await _fresh_budgets(session, row)
        try:
            decision = at_resume(row.progress, by=by, why=why)
            await _written(session, row, decision, resets, Asks.GO_ON if along else None)
        except Refused:
            if tries == 1:
                raise
        else:
            return True
    raise _restless(task_id)


async def _fresh_budgets(session: Session, row: TaskRow) -> list[StepReset]:
    """Resets for the steps of the present chapter that have no outcome."""
    resets: list[StepReset] = []
    after, progress = 0, row.progress
    while page := await session.store.steps(row.key, after=after):
        after = page[-1][0]
        resets += [
            StepReset(row.key, step.identity, progress.deaths_total)
            for _, step in page
            if step.outcome is None and step.chapter == progress.chapter and not is_wait(step)
        ]
    return resets


async def _written(
    session: Session,
    row: TaskRow,
    decision: Decision,
    resets: Sequence[StepReset] = (),
    follows: Asks | None = None,
) -> None:
    """Write a decision over a task that no life holds here. Raises Refused where it has moved."""
    ledger = Ledger(session.environment, row)
    if follows is not None:
        ledger.follow(follows)
    apply(ledger, decision, resets)
    await ledger.durable()


async def settle(
    session: Session,
    task_id: str,
    key: str,
    outcome: Done[Any] | NotDone,
    *,
    step: str | None,
    by: str | None,
    why: str | None,
) -> None:
    """Decide an unknown effect; a task that was paused for it goes on.

    Raises BadCall where there is no such effect, more than one, or one that is not unknown.
    """
    _check_outcome(outcome)
    for tries in range(_TRIES, 0, -1):
        row = await session.row(task_id)
        paused = row.progress.status is Status.PAUSED
        effects = await session.store.effects(row.key)
        effect = _unknown(session, effects, key, step, paused=paused)
        decided = _decided(session, effect, outcome, by)
        told = Told("effect_settled", _said(decided, by, why), _step_of(decided))
        try:
            life = session.pools.life(row.key)
            if life is None:
                await _settled(session, row, decided, told)
                return
            if await _settled_alive(life, decided, told):
                return
        except Refused:
            if tries == 1:
                raise
    raise _restless(task_id)


async def _settled(session: Session, row: TaskRow, effect: EffectRow, told: Told) -> None:
    ledger = Ledger(session.environment, row)
    ledger.effect(effect, len(effect.value or b""))
    apply(ledger, at_settle(row.progress, told))
    await ledger.durable()


async def _settled_alive(life: Life, effect: EffectRow, told: Told) -> bool:
    """Through the ledger of a life that is under way; False where that is just ending."""
    if life.ended is not None or life.incarnation is None:
        await life.over
        return False
    known = life.incarnation.effects.get(effect.operation)
    if known is not None and known.state is not EffectState.INTENT:
        instead = "it when the store can write what is known of it"
        raise BadCall("key", effect.key, "is decided already, by the task itself", instead)
    life.incarnation.effects[effect.operation] = effect
    life.ledger.effect(effect, len(effect.value or b""))
    life.ledger.event(told.kind, step=told.step, data=told.data)
    await life.ledger.durable()
    return True


def _unknown(
    session: Session, effects: list[EffectRow], key: str, step: str | None, *, paused: bool
) -> EffectRow:
    """The one unknown effect that is meant; while the task is paused, one that a person decided."""
    found = [row for row in effects if row.key == key and step in (None, row.step)]
    open_ones = [row for row in found if row.state is EffectState.INTENT]
    open_ones = open_ones or [row for row in found if paused and _was_said(row)]
    if not open_ones:
        why = "is decided already" if found else "is no effect of this task"
        raise BadCall("key", key, why, "one that task.effects() shows as unknown")
    if len(open_ones) > 1:
        names = ", ".join(repr(row.step) for row in open_ones)
        raise BadCall(
            "key", key, f"is used by several steps: {names}", f"step={open_ones[0].step!r}"
        )
    if open_ones[0].operation in session.environment.effects_running:
        raise BadCall("key", key, "is an effect whose call still runs here", "it when it has ended")
    return open_ones[0]


def _decided(
    session: Session, effect: EffectRow, outcome: Done[Any] | NotDone, by: str | None
) -> EffectRow:
    value: bytes | None = None
    if isinstance(outcome, Done):
        codec = ValueCodec.of(type(outcome.value))
        where = f"the value of the effect {effect.key}"
        value = codec.encode(outcome.value, where, session.environment.limits)
    return effect._replace(
        state=EffectState.NOT_DONE if value is None else EffectState.RECEIPT,
        value=value,
        error=effect.error if value is None else None,
        decided_by=by or "operator",
        ended_at=session.clock.now(),
    )


def _was_said(effect: EffectRow) -> bool:
    """Whether a person decided it, who may have been wrong."""
    return effect.decided_by not in (None, "probe")


def _step_of(effect: EffectRow) -> str | None:
    """The step that used an effect; None for `run`, which is known by its chapter's prefix."""
    return None if not effect.step or effect.step.endswith("/") else effect.step


def _said(effect: EffectRow, by: str | None, why: str | None) -> dict[str, Any]:
    happened = effect.state is EffectState.RECEIPT
    said = {
        "key": effect.key,
        "operation": effect.operation,
        "done": happened,
        "by": by,
        "why": why,
    }
    return {name: value for name, value in said.items() if value is not None}


def _check_outcome(outcome: object) -> None:
    if not isinstance(outcome, (Done, NotDone)):
        raise BadCall("outcome", outcome, "says neither", "Done(value) or NotDone()")


def _restless(task_id: str) -> Refused:
    return StaleIncarnation(task_id, f"it moved on {_TRIES} times while it was written to")
