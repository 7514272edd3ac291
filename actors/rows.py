"""The next row of a step, after each thing that can happen to it. Plain functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..storage.clock import Due
from ..storage.records import Outcome, StepRow

if TYPE_CHECKING:
    from .incarnation import Incarnation
    from .scope import Call

__all__ = [
    "begun",
    "begun_wait",
    "charged",
    "completed",
    "due_of",
    "failed",
    "first",
    "forgotten",
    "let_go",
    "lost",
    "not_due",
    "recorded",
]


def first(
    call: Call,
    task: int,
    chapter: int,
    version: int,
    deaths_seen: int,
    now: float,
    attempt: int = 0,
) -> StepRow:
    """The row of a step before its first attempt (0), or as that begins (1)."""
    return StepRow(
        task,
        call.identity,
        call.scope.identity,
        call.definition.name,
        call.key,
        call.occurrence,
        chapter,
        version,
        attempt,  # serial
        0,  # attempts
        attempt,  # open
        deaths_seen,
        None,  # due_at
        None,  # due_boot
        None,  # due_delay
        None,  # outcome
        None,  # seq
        call.digest,
        call.preview,
        None,  # output
        None,  # changes
        None,  # appends
        None,  # error
        now,
        now,
        None,  # ended_at
    )


def begun_wait(
    life: Incarnation,
    call: Call,
    due: Due | None,
    question: bytes | None = None,
    serial: int = 0,
) -> StepRow:
    """The row of a wait that begins now, put on the ledger; `due` is when it ends by itself.

    `serial` counts how often it was lost before.
    """
    ledger, now = life.ledger, life.clock.now()
    row = first(call, ledger.row.key, ledger.progress.chapter, life.schema.version, 0, now)
    at, boot, delay = due or (None, None, None)
    row = row._replace(serial=serial, due_at=at, due_boot=boot, due_delay=delay, output=question)
    ledger.step(row, len(question or b""))
    data = {"for": call.preview} if due is None else {"for": call.preview, "until": due.at}
    ledger.event("wait_started", step=row.identity, data=data)
    return row


def charged(row: StepRow, deaths_total: int, deaths_settled: int, max_attempts: int) -> StepRow:
    """Charge deaths that may have cost this step an attempt unseen, its last one excepted.

    A begun attempt is written in the next batch and not waited for, so a process that dies
    before that leaves no trace of it. Hence every death since the task's last checkpoint that is
    not yet charged to the step counts as an attempt, unless it would be the last.
    """
    unseen = deaths_total - max(deaths_settled, row.deaths_seen)
    if unseen <= 0:
        return row
    attempts = max(row.attempts, min(row.attempts + unseen, max_attempts - 1))
    return row._replace(attempts=attempts, deaths_seen=deaths_total)


def begun(row: StepRow, call: Call, version: int, now: float) -> StepRow:
    """Another attempt begins; arguments and the state's version are those of the present code."""
    return row._replace(
        version=version,
        serial=row.serial + 1,
        open=1,
        due_at=None,
        due_boot=None,
        due_delay=None,
        digest=call.digest,
        preview=call.preview,
        first_at=now if row.attempts == 0 else row.first_at,
        started_at=now,
        ended_at=None,
    )


def completed(
    row: StepRow,
    seq: int,
    output: bytes,
    changes: bytes | None,
    appends: bytes | None,
    now: float,
) -> StepRow:
    """The attempt has succeeded: this is the checkpoint.

    With `first` it makes nearly all rows: taken apart at once, it takes half of what names take.
    """
    (task, identity, above, name, key, occurrence, chapter, version, serial, attempts, _,
     deaths_seen, due_at, due_boot, due_delay, _, _, digest, preview, _, _, _, _,
     first_at, started_at, _) = row  # fmt: skip
    return StepRow(
        task,
        identity,
        above,
        name,
        key,
        occurrence,
        chapter,
        version,
        serial,
        attempts + 1,
        0,  # open
        deaths_seen,
        due_at,
        due_boot,
        due_delay,
        Outcome.COMPLETED,
        seq,
        digest,
        preview,
        output,
        changes,
        appends,
        None,  # error
        first_at,
        started_at,
        now,  # ended_at
    )


def failed(row: StepRow, error: bytes, due: Due | None, now: float) -> StepRow:
    """The attempt has failed; another one begins when `due` says."""
    at, boot, delay = due or (None, None, None)
    return row._replace(
        attempts=row.attempts + 1,
        open=0,
        due_at=at,
        due_boot=boot,
        due_delay=delay,
        error=error,
        ended_at=now,
    )


def let_go(row: StepRow, now: float) -> StepRow:
    """The attempt was ended by its caller or by the runtime: it does not count."""
    return row._replace(open=0, ended_at=now)


def recorded(row: StepRow, seq: int, output: bytes, now: float) -> StepRow:
    """A verb of `ctx` used in `run`: what it answered, so that a replay answers the same."""
    return row._replace(outcome=Outcome.COMPLETED, seq=seq, output=output, ended_at=now)


def lost(row: StepRow, seq: int, error: bytes, now: float) -> StepRow:
    """A wait has ended without what was waited for: a replay raises the same."""
    return row._replace(
        serial=row.serial + 1, outcome=Outcome.FAILED, seq=seq, error=error, ended_at=now
    )


def forgotten(row: StepRow, deaths_seen: int) -> StepRow:
    """What a reset makes of the row: its failure, or its used-up attempts, never were."""
    return not_due(row)._replace(
        outcome=None,
        seq=None,
        attempts=0,
        open=0,
        error=None,
        changes=None,
        appends=None,
        deaths_seen=deaths_seen,
    )


def not_due(row: StepRow) -> StepRow:
    """The wait is over or given up; nobody is asked any more."""
    return row._replace(due_at=None, due_boot=None, due_delay=None, output=None)


def due_of(row: StepRow) -> Due | None:
    """The stored end of the step's backoff, or of the wait."""
    if row.due_at is None:
        return None
    return Due(row.due_at, row.due_boot, row.due_delay or 0.0)
