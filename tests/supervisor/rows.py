"""Rows for tests of plain functions."""

from __future__ import annotations

from typing import Any

from everstep.storage.records import Progress, Status

_FRESH = Progress.beginning(0.0)._replace(status=Status.RUNNING, epoch=7, incarnation=1)


def progress(**fields: Any) -> Progress:
    """The progress of a task that runs in epoch 7, with some columns set otherwise."""
    return _FRESH._replace(**fields)
