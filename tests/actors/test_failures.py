"""Exceptions as facts, whatever their own code does."""

from __future__ import annotations

import asyncio

import pytest

from everstep.actors.failures import failure_of


@pytest.mark.parametrize("raised", [ValueError("no words"), asyncio.CancelledError()])
def test_an_exception_whose_str_fails_is_still_a_failure(raised: BaseException) -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise raised

    failure = failure_of(Speechless())

    assert failure.message == f"(its message cannot be read: {type(raised).__name__})"
    assert failure.is_a(Speechless)
