"""Exceptions as facts, whatever their own code does."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import none
from everstep.actors.exits import Crashed
from everstep.actors.failures import StepFailed, failure_of, read_failure
from everstep.actors.retry import Retry
from everstep.actors.step import step
from tests.actors.driver import driving
from tests.actors.odd_exceptions import ODD, odd_exception


@pytest.mark.parametrize("raised", [ValueError("no words"), asyncio.CancelledError()])
def test_an_exception_whose_str_fails_is_still_a_failure(raised: BaseException) -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise raised

    failure = failure_of(Speechless())

    assert failure.message == f"(its message cannot be read: {type(raised).__name__})"
    assert failure.is_a(Speechless)


class Breaking(Actor, name="failures.breaking"):
    """Raises the odd exception that the class is told to, in steps of each kind and in `run`."""

    odd: ClassVar[str]
    caught: ClassVar[list[str]]

    @step(retry=Retry(max_attempts=2, backoff=none()))
    async def break_down(self) -> None:
        raise odd_exception(self.odd)

    @step(retry=Retry(max_attempts=2, backoff=none(), retry_on=(ValueError, Exception)))
    def in_a_thread(self) -> None:
        raise odd_exception(self.odd)

    @step(retry=Retry(max_attempts=2, backoff=none()))
    async def by_an_effect(self) -> None:
        await self.ctx.once("key", self._effect, on_unknown="retry")

    async def _effect(self) -> None:
        raise odd_exception(self.odd)

    async def run(self) -> None:
        for one in (self.break_down, self.in_a_thread, self.by_an_effect):
            try:
                await one()
            except StepFailed as failed:
                self.caught.append(f"{failed.step} {failed.attempts} {failed.failure.kind}")
        raise odd_exception(self.odd)


def told(attempts: str) -> list[str]:
    step, times = attempts.split()
    return [f"step_started {step}", f"step_failed {step}"] * int(times)


@pytest.mark.parametrize("name", ODD)
async def test_a_step_or_a_run_fails_with_facts_whatever_code_of_its_own_its_exception_has(
    name: str,
) -> None:
    Breaking.odd, Breaking.caught = name, []
    kind = failure_of(odd_exception(name)).kind
    async with driving() as driver:
        ledger = await driver.create(Breaking())
        ended = await driver.live(ledger, Breaking)

        assert isinstance(ended, Crashed)
        assert ended.failure.kind == kind
        assert not ended.never_retried
        assert ended.failure.encoded()
        kinds = [one for one in await driver.kinds(ledger) if one.startswith("step")]
        steps = ("break_down", "in_a_thread", "by_an_effect")
        assert kinds == [*told("break_down 2"), *told("in_a_thread 2"), *told("by_an_effect 2")]
        assert Breaking.caught == [f"{step} 2 {kind}" for step in steps]


@pytest.mark.parametrize("name", ODD)
def test_the_facts_of_every_exception_are_had_and_kept(name: str) -> None:
    try:
        raise odd_exception(name)
    except BaseException as error:
        failure = failure_of(error)

    assert read_failure(failure.encoded()) == failure
    assert failure.is_a(Exception)
    assert __name__ in failure.traceback or __file__ in failure.traceback
    assert not failure.kind.startswith(("builtins", "everstep"))


def test_what_cannot_be_shown_has_its_class_its_words_and_its_frames() -> None:
    failure = failure_of(odd_exception("offset"))

    assert (failure.kind, failure.message) == ("SyntaxError", "bad input (<template>, line 3)")
    assert failure.traceback.endswith(
        "SyntaxError: bad input (<template>, line 3)\n(no more can be shown: TypeError)\n"
    )
