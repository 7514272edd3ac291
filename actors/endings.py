"""What an exception means that has left `run`."""

from __future__ import annotations

from ..storage.records import StepReset
from .exits import Crashed
from .failures import failure_of, found_in, recorded_in
from .ledger import Ledger
from .scope import Scope
from .verdicts import leaves_for_good

__all__ = ["crashed_by"]


def crashed_by(error: BaseException, root: Scope, ledger: Ledger) -> Crashed:
    """The crash, with the failures in it that get a fresh budget. Records nothing."""
    leaving = root.left_by(set(recorded_in(error)))
    total = ledger.progress.deaths_total
    final = leaves_for_good(error)
    return Crashed(
        failure=failure_of(error, final=final),
        never_retried=final,
        forget=tuple(StepReset(ledger.row.key, one, total) for one in sorted(leaving)),
        step=next(found_in(error), None),
    )
