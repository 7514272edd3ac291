"""Rows for tests of plain functions."""

from __future__ import annotations

from typing import Any

from everstep.storage.records import Progress, Status

_FRESH = Progress(
    status=Status.RUNNING,
    epoch=7,
    generation=1,
    incarnation=1,
    chapter=1,
    chapter_seq=0,
    seq=0,
    event_seq=0,
    crashes=0,
    deaths=0,
    brushes=0,
    deaths_total=0,
    deaths_settled=0,
    death_epoch=None,
    due_at=None,
    due_boot=None,
    due_delay=None,
    claimed_at=None,
    crashed_at=None,
    updated_at=0.0,
    reason=None,
    output=None,
    error=None,
)


def progress(**fields: Any) -> Progress:
    """The progress of a task that runs in epoch 7, with some columns set otherwise."""
    return _FRESH._replace(**fields)
