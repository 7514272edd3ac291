"""Each way in which a payment can fail leads to what the guide's table says, at a real bank."""

import asyncio
from pathlib import Path

import pytest

from everstep import Done, NotDone, Runtime, TaskFailed, TaskPaused
from examples.guide.unsure import Insisting, Strict, Unsure
from examples.payment import Bank, pay_through, told

PAID = ["step_started", "effect_intent", "effect_receipt", "step_completed"]

pytestmark = pytest.mark.real


def test_nothing_fails(tmp_path: Path) -> None:
    assert pay_through("none", tmp_path) == ("payment-1", PAID, 1)


@pytest.mark.parametrize("trouble", ["connect error", "429"])
def test_an_order_that_was_never_taken_is_a_failed_attempt(trouble: str, tmp_path: Path) -> None:
    number, events, payments = pay_through(trouble, tmp_path)

    failed = ["step_started", "effect_intent", "effect_not_done", "step_failed"]
    assert (number, payments) == ("payment-1", 1)
    assert events == failed + PAID


@pytest.mark.parametrize("trouble", ["500, taken", "timeout"])
def test_an_unknown_payment_that_the_probe_finds_is_done(trouble: str, tmp_path: Path) -> None:
    number, events, payments = pay_through(trouble, tmp_path)

    assert (number, payments) == ("payment-1", 1)
    unknown = ["step_started", "effect_intent", "effect_unknown"]
    assert events == [*unknown, "effect_receipt", "step_completed"]


def test_an_unknown_payment_that_the_probe_does_not_find_is_a_failed_attempt(
    tmp_path: Path,
) -> None:
    number, events, payments = pay_through("500, not taken", tmp_path)

    assert (number, payments) == ("payment-1", 1)
    unknown = ["step_started", "effect_intent", "effect_unknown"]
    assert events == [*unknown, "effect_not_done", "step_failed", *PAID]


def test_a_payment_made_before_the_process_died_is_not_made_again(tmp_path: Path) -> None:
    number, events, payments = pay_through("death", tmp_path)

    assert (number, payments) == ("payment-1", 1)
    died = ["step_started", "effect_intent", "step_died"]
    assert events == [*died, "step_started", "effect_receipt", "step_completed"]


# --- without a probe --------------------------------------------------------------------------


async def test_without_a_probe_the_task_is_paused_until_a_person_says_that_it_is_done(
    tmp_path: Path,
) -> None:
    with Bank("500, taken") as bank:
        bank.serve()
        async with Runtime(tmp_path / "tasks.db") as runtime:
            task = await runtime.start(Unsure(bank=bank.url), id="unsure")
            with pytest.raises(TaskPaused) as caught:
                await task.result()
            await task.settle("pay", Done("payment-1"), by="Ada", why="seen in the account")

            assert await task.result() == "payment-1"

        assert caught.value.reason == "effect_unknown"
        assert len(bank.payments) == 1


async def test_a_person_says_that_it_is_not_done_and_it_is_tried_again(tmp_path: Path) -> None:
    with Bank("500, not taken") as bank:
        bank.serve()
        async with Runtime(tmp_path / "tasks.db") as runtime:
            task = await runtime.start(Unsure(bank=bank.url))
            with pytest.raises(TaskPaused):
                await task.result()
            await task.settle("pay", NotDone(), by="Ada")

            assert await task.result() == "payment-1"


def test_with_retry_it_is_ordered_again_under_the_same_operation_id(tmp_path: Path) -> None:
    async def insist(bank: Bank) -> str:
        async with Runtime(tmp_path / "tasks.db") as runtime:
            task = await runtime.start(Insisting(bank=bank.url), id="insisting")
            number: str = await task.result()
            return number

    with Bank("500, taken") as bank:
        bank.serve()
        number = asyncio.run(insist(bank))

    assert (number, len(bank.payments)) == ("payment-1", 1)
    failed = ["step_started", "effect_intent", "effect_unknown", "step_failed"]
    assert asyncio.run(told(tmp_path / "tasks.db", "insisting")) == failed + PAID


async def test_with_fail_the_task_fails_at_once() -> None:
    with Bank("timeout") as bank:
        bank.serve()
        async with Runtime(":memory:") as runtime:
            task = await runtime.start(Strict(bank=bank.url))
            with pytest.raises(TaskFailed) as caught:
                await task.result()

    assert caught.value.error.endswith("EffectUnknown")
