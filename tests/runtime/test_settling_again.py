"""What a person decided wrongly, a person can mend."""

from __future__ import annotations

import pytest

from everstep import Actor, BadCall, Done, Status, TaskPaused, step
from tests.runtime.kit import Place


class Charging(Actor, name="settling_again.Charging"):
    """An effect of which nothing is known, and which returns a text."""

    @step
    async def pay(self) -> str:
        return await self.ctx.once("pay", self._charge)

    @staticmethod
    async def _charge() -> str:
        raise RuntimeError("connection lost")


async def test_a_value_of_another_type_can_be_settled_again(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Charging())
        with pytest.raises(TaskPaused, match="effect_unknown"):
            await task.result()

        await task.settle("pay", Done(3))
        with pytest.raises(TaskPaused, match="state_unreadable"):
            await task.result()
        await task.settle("pay", Done("payment 7"))

        assert await task.result() == "payment 7"
        assert (await task.status()).status is Status.SUCCEEDED
        with pytest.raises(BadCall, match="decided already"):
            await task.settle("pay", Done("payment 8"))
