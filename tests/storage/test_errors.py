"""Errors keep their facts, and survive the way to another process."""

from __future__ import annotations

import pickle

import pytest

from everstep.storage import (
    EverstepError,
    LostLease,
    StaleAttempt,
    StaleIncarnation,
    StoreClosed,
    StoreFailed,
    StoreInUse,
    Superseded,
    TaskExists,
    TaskNotFound,
)

ERRORS = [
    TaskExists("report-7", "its fields are others"),
    TaskNotFound("report-7"),
    StoreClosed("tasks.db", "it is closed"),
    StoreInUse("tasks.db", "process 7 uses it"),
    StoreFailed("tasks.db", "the disk is full", "free some"),
    LostLease("report-7", "epoch 2"),
    StaleIncarnation("report-7", "incarnation 2"),
    StaleAttempt("report-7", "attempt 2"),
    Superseded("report-7", "it has ended"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling_with_its_facts(error: EverstepError) -> None:
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__


def test_an_error_of_the_place_says_what_to_do() -> None:
    assert str(StoreInUse("tasks.db", "process 7 uses it")) == (
        "tasks.db: process 7 uses it; stop it, or wait for it with Runtime(…, wait=seconds), "
        "or open another file"
    )
    assert str(StoreFailed("tasks.db", "the disk is full", "free some")).endswith("; free some")
    assert str(StoreInUse("tasks.db", "why", "")) == "tasks.db: why"
