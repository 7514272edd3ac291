"""The life of a step: found in the store, or attempted until it has an outcome.

Reads from top to bottom: `perform` -> replayed or live -> begin, execute, finish or fail.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from ..storage.clock import Due, due_in, left_of, shown_seconds
from ..storage.errors import StaleAttempt
from ..storage.records import Outcome, StepRow
from . import rows
from .actor import is_flow
from .approval import approval_of, approved
from .attempt import Attempt
from .errors import ConflictingChange, ProcessDied, UnaskedCancellation
from .failures import Failure, StepFailed, failure_of, found_in, read_failure
from .foreign import is_kind, log_error
from .halting import decoded
from .leash import Severed
from .retry import Retry, any_matches, delay, verdict
from .scope import Call
from .state import NOTHING, Changes, adopt
from .verdicts import Ended, How, how_ended

if TYPE_CHECKING:
    from .incarnation import Incarnation

__all__ = ["perform"]

_LOG = logging.getLogger("everstep")
_DEFAULT = Retry()


async def perform(life: Incarnation, call: Call, *, ends_plan: bool = False) -> Any:
    """What the step returns: recorded, or by executing it.

    Cancelling leaves nothing while it executes; once its checkpoint is on its way, that stays.

    Raises:
        StepFailed: all its attempts are used up, now or in an earlier life.
        Rejected: a person said no to it, now or in an earlier life.
        Refused, StoreFailed: the task is no longer ours.
    """
    row = life.take(call)
    if row is not None and row.outcome is not None:
        return _replayed(life, call, row)
    call.takes_off()
    try:
        if call.definition.options.approval is not None:
            await approved(life, call)
        life.sets_out()
        try:
            value, waits = await _live(life, call, row, ends_plan)
            landing = life.ledger.landing() if waits else None
            if landing is not None:
                await landing  # without the attempt and its rows: the collector has less to see
                if life.is_fenced:  # an operator ended the task meanwhile
                    life.check_fenced()
            return value
        finally:
            life.arrives(call)
    finally:
        call.has_landed()


def _replayed(life: Incarnation, call: Call, row: StepRow) -> Any:
    if call.definition.options.approval is not None:
        life.journal.recollection.drop({approval_of(row.identity)})
    life.sync(call.scope)
    life.remember(call, row)
    if row.outcome is Outcome.FAILED:
        raise _step_failed(call, row, read_failure(row.error or b"null"))
    if call.scope is not life.root or is_flow(life.actor):  # a plan stands on the present state
        call.scope.show(row)
    if row.output is None:
        return None
    codec = call.definition.of(life.actor).output
    return decoded(call.scope, codec, row.output, f"the output of step {row.identity}")


async def _live(
    life: Incarnation, call: Call, row: StepRow | None, ends_plan: bool
) -> tuple[Any, bool]:
    """Execute until there is a checkpoint: (the value, whether to wait until it is durable)."""
    task = life.here()
    retry = call.definition.options.retry or _DEFAULT
    row = _due_for_an_attempt(life, call, row, retry)
    began = life.clock.monotonic()
    if row is not None:
        if row.attempts >= retry.max_attempts:
            raise await _used_up(life, call, row, _last_failure(row))
        began -= _elapsed_before(life, row)
    while True:
        row = await _begin(life, call, row, retry)
        attempt = Attempt(call, row, task)
        try:
            returned = await attempt.execute()
        except BaseException as error:  # noqa: BLE001  (the boundary of user code)
            row = await _ended(life, call, attempt, row, error, retry, began)
            continue
        if attempt.calls and not call.scope.ended:
            await _end_below(life, attempt, row)
        try:
            return _finish(life, call, attempt, row, returned, ends_plan)
        except BaseException as error:  # noqa: BLE001  (such as values that do not fit)
            row = await _ended(life, call, attempt, row, error, retry, began)


def _elapsed_before(life: Incarnation, row: StepRow) -> float:
    """Seconds by the wall clock since the first attempt of a step tried in an earlier life."""
    return max(0.0, life.clock.now() - row.first_at) if row.attempts else 0.0


def _last_failure(row: StepRow) -> Failure:
    """Why a step has no attempts left when it is called: what failed last, or its deaths."""
    if row.error is not None and row.due_at is not None:
        return read_failure(row.error)
    return failure_of(ProcessDied(row.identity, row.attempts))


def _due_for_an_attempt(
    life: Incarnation, call: Call, row: StepRow | None, retry: Retry
) -> StepRow | None:
    """The row, with all deaths charged that are to be; None for a new step where none are."""
    progress = life.ledger.progress
    if row is None:
        if progress.deaths_settled == progress.deaths_total:
            return None
        row = _first(life, call)
    return rows.charged(row, progress.deaths_total, progress.deaths_settled, retry.max_attempts)


def _first(life: Incarnation, call: Call, attempt: int = 0) -> StepRow:
    progress, version = life.ledger.progress, life.schema.version
    key, now, seen = life.ledger.row.key, life.clock.now(), progress.deaths_settled
    return rows.first(call, key, progress.chapter, version, seen, now, attempt)


async def _begin(life: Incarnation, call: Call, row: StepRow | None, retry: Retry) -> StepRow:
    """Count the attempt. The row is waited for where losing it could add an execution."""
    if not life.is_open():
        await life.gate()
    due = None if row is None else rows.due_of(row)
    if due is not None:
        await _back_off(life, call, due)
        await life.gate()
    if not (life.waits.is_seated or call.scope.ended):
        await life.waits.seated()
        await life.gate()
    if call.scope.ended:
        raise _too_late(life, call)
    ledger = life.ledger
    if row is None:
        row = _first(life, call, attempt=1)
    else:
        row = rows.begun(row, call, life.schema.version, life.clock.now())
    waited = due is not None or row.attempts + 1 >= retry.max_attempts
    if ledger.progress.due_at is not None:
        ledger.due(None)
    data = b'{"attempt":%d}' % (row.attempts + 1)
    life.journal.passed(row, "step_started", data, row.started_at)
    if waited:
        await _standing_by(life, call, row, ledger.durable())
    else:
        ledger.write()
    return row


async def _standing_by(
    life: Incarnation, call: Call, row: StepRow, work: Coroutine[Any, Any, None]
) -> None:
    """Return when the work is done. Who ends the attempt's caller meanwhile lets go of it."""
    traffic = life.journal.traffic
    traffic.stands_by(call, row)
    try:
        await work
    except BaseException as error:
        if traffic.goes_on(call) and is_kind(error, asyncio.CancelledError):
            life.let_go(row, "step_cancelled")
        raise
    is_wanted = traffic.goes_on(call)
    life.check_fenced()
    if not is_wanted:
        raise _too_late(life, call)


async def _end_below(life: Incarnation, attempt: Attempt, row: StepRow) -> None:
    """End the steps that code of the attempt has left running, which is over itself."""
    try:
        await _standing_by(life, attempt.call_made, row, life.end_below(attempt))
    except BaseException:
        attempt.end()
        raise


def _too_late(life: Incarnation, call: Call) -> StaleAttempt:
    outer = call.scope.identity or "run"
    what = f"step {call.identity} was called, and {outer} ended before it was awaited"
    return StaleAttempt(life.task_id, what)


async def _back_off(life: Incarnation, call: Call, due: Due) -> None:
    """Wait for what is left of a stored delay; the row says so while nothing else runs."""
    left = left_of(life.clock, due)
    if left <= 0:
        life.journal.traffic.backed_off(call.identity)
        return
    life.journal.backs_off(call.identity, due)
    life.ledger.write()
    life.waits.backs_off()
    await life.clock.sleep(left)
    life.journal.traffic.backed_off(call.identity)


def _finish(
    life: Incarnation, call: Call, attempt: Attempt, row: StepRow, value: Any, ends_plan: bool
) -> tuple[Any, bool]:
    """Turn a returned value into the checkpoint: (the value by its type, whether to wait)."""
    life.check_fenced()
    call.scope.check_open()
    if attempt.halted:
        raise Ended("a step that halted the task has no output")
    where = f"the output of step {row.identity}"
    codec = call.definition.of(life.actor).output
    output, value = codec.settle(value, where, life.limits)
    changes = attempt.changes()
    life.sync(call.scope)
    outcome = value, ends_plan or not call.definition.options.lazy
    try:
        if changes is not NOTHING:
            adopt(call.scope.view, call.frame, changes, row.identity)
        _checkpoint(life, call, attempt, row, output, changes, ends_plan)
    except ConflictingChange:  # which is found before anything is changed
        raise
    except BaseException as fault:
        life.breaks(fault)
        raise
    return outcome


def _checkpoint(
    life: Incarnation,
    call: Call,
    attempt: Attempt,
    row: StepRow,
    output: bytes,
    changes: Changes,
    ends_plan: bool,
) -> None:
    """Put the checkpoint of the attempt on the ledger, with all that goes with it."""
    attempt.end()
    changed, appended, size = changes.encoded()
    seq, now = life.ledger.next_seq(), life.clock.now()
    row = rows.completed(row, seq, output, changed, appended, now)
    call.scope.shows(changes.fields, seq)
    if attempt.luggage is not None:
        attempt.luggage.put_on(life.ledger, row.identity)
    life.journal.passed(row, "step_completed", None, now, size + len(output))
    if call.errand is not None:
        call.errand.completed(life, output)
    life.checkpointed(call, attempt, row)
    if ends_plan:
        life.journal.succeeded(output)


async def _ended(
    life: Incarnation,
    call: Call,
    attempt: Attempt,
    row: StepRow,
    error: BaseException,
    retry: Retry,
    began: float,
) -> StepRow:
    """What follows an attempt that did not succeed: the row for the next one, or an exception."""
    leash = attempt.leash
    asked = leash is not None and leash.was_asked(error)
    closed = leash is not None and leash.is_closed
    how = how_ended(error, attempt.cause, asked, closed)
    attempt.end()
    if life.is_fenced or life.ledger.refusal is not None:
        raise error
    if (failed := life.store_failed(error)) is not None:
        error = life.lose_store(attempt, failed)
    if call.scope.ended or attempt.halted:
        how = How.CUT  # the step above has ended without it, or the task goes on in no way
    if is_kind(error, (KeyboardInterrupt, SystemExit)):
        life.may_exit()
    if how in (How.LEAVING, How.LEFT, How.CUT):
        if not attempt.is_let_go:
            life.let_go(row, "step_cut" if how is How.CUT else "step_cancelled")
        if attempt.calls and how is not How.LEAVING:
            await life.end_below(attempt)
        raise asyncio.CancelledError if is_kind(error, Severed) else error
    if attempt.calls:
        await _end_below(life, attempt, row)
    if attempt.cause is not None:
        error = attempt.cause
    elif is_kind(error, asyncio.CancelledError):
        error = UnaskedCancellation(f"step {row.identity}")
    _forget_inner_failures(life, attempt, error)
    final = how is How.HOPELESS or any_matches(error, retry.give_up_on)
    failure = failure_of(error, final=final)
    elapsed = life.clock.monotonic() - began
    if final or verdict(retry, error, row.attempts + 1, elapsed) == "give_up":
        raise await _used_up(life, call, rows.failed(row, b"", None, 0.0), failure) from error
    return await _try_again(life, row, failure, _delay(life, retry, row.attempts + 1, error))


def _delay(life: Incarnation, retry: Retry, attempt: int, error: BaseException) -> float:
    """The backoff in seconds; the default one where that of the step is broken."""
    try:
        return delay(retry, attempt, life.environment.chance, error)
    except Exception as broken:  # noqa: BLE001  (a function of the user's)
        log_error(broken, "the backoff of a step of %s failed; the default is used", life.task_id)
        return delay(_DEFAULT, attempt, life.environment.chance, error)


def _forget_inner_failures(life: Incarnation, attempt: Attempt, error: BaseException) -> None:
    """Steps below, whose failure left this attempt, get a fresh budget in the next one."""
    leaving = attempt.left_by({failure.identity for failure in found_in(error)})
    for identity in leaving:
        life.journal.forget(identity)


async def _try_again(life: Incarnation, row: StepRow, failure: Failure, wait: float) -> StepRow:
    """Record a failed attempt before its backoff."""
    row = life.wholly(_put_retry, life, row, failure, wait)
    _tell(life, row, failure, f"the next one in {shown_seconds(round(wait, 3))}")
    await life.ledger.durable()
    return row


def _put_retry(life: Incarnation, row: StepRow, failure: Failure, wait: float) -> StepRow:
    due = due_in(life.clock, wait)
    row = rows.failed(row, failure.encoded(), due, life.clock.now())
    life.journal.step(row)
    data = {"attempt": row.attempts, "error": str(failure), "retry_in": wait}
    life.ledger.event("step_failed", step=row.identity, data=data)
    life.journal.backs_off(row.identity, due)
    return row


async def _used_up(life: Incarnation, call: Call, row: StepRow, failure: Failure) -> StepFailed:
    """Record that the step has failed for good; the exception to raise."""
    life.check_fenced()
    row, answered = life.wholly(_put_failure, life, call, row, failure)
    _tell(life, row, failure, "it was the last one")
    call.scope.has_unheard(row.identity)
    try:
        await life.ledger.durable()
    except asyncio.CancelledError:
        if not answered:
            life.take_back(call.scope, row, "step_cancelled")
        raise
    return _step_failed(call, row, failure)


def _put_failure(
    life: Incarnation, call: Call, row: StepRow, failure: Failure
) -> tuple[StepRow, bool]:
    """Put the last failure on the ledger: its row, and whether somebody was answered with it."""
    ledger = life.ledger
    row = row._replace(
        open=0,
        outcome=Outcome.FAILED,
        seq=ledger.next_seq(),
        error=failure.encoded(),
        ended_at=life.clock.now(),
    )
    life.journal.step(row)
    data = {"attempt": row.attempts, "error": str(failure), "final": True}
    ledger.event("step_failed", step=row.identity, data=data)
    life.remember(call, row)
    return row, call.errand is not None and call.errand.failed(life, row.attempts, failure)


def _tell(life: Incarnation, row: StepRow, failure: Failure, what_next: str) -> None:
    _LOG.info(
        "attempt %d of the step %s of the task %s failed, %s: %s",
        row.attempts, row.identity, life.task_id, what_next, failure,
    )  # fmt: skip


def _step_failed(call: Call, row: StepRow, failure: Failure) -> StepFailed:
    call.scope.hears_of(row.identity)
    return StepFailed(row.name, row.identity, row.attempts, failure)
