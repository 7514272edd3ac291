"""Deciding an effect by hand never goes against what the task itself knows of it."""

from __future__ import annotations

from typing import ClassVar

import pytest

from everstep import Actor, BadCall, Done, NotDone, Retry, Runtime, none, step
from everstep.testing import ManualClock
from tests.actors.slow_store import SlowStore
from tests.runtime.kit import kinds


class Paying(Actor, name="settling.Paying"):
    """An effect of which nothing is known at first, and whose receipt then waits for the disk."""

    store: ClassVar[SlowStore]
    calls: ClassVar[list[str]] = []

    async def run(self) -> str:
        return await self.pay()

    @step(retry=Retry(max_attempts=3, backoff=none()))
    async def pay(self) -> str:
        return await self.ctx.once("pay", self._charge, on_unknown="retry")

    @classmethod
    async def _charge(cls) -> str:
        cls.calls.append("charge")
        if len(cls.calls) == 1:
            raise RuntimeError("connection lost")
        cls.store.hold()
        return "paid"


@pytest.mark.parametrize("outcome", [NotDone(), Done("twice")])
async def test_an_effect_whose_receipt_waits_for_the_disk_cannot_be_decided_otherwise(
    outcome: NotDone | Done[str],
) -> None:
    clock = ManualClock()
    store = Paying.store = SlowStore(clock)
    Paying.calls = []
    async with Runtime(":memory:", store=store, clock=clock) as runtime:
        task = await runtime.start(Paying())
        await store.waits.wait()
        (effect,) = await task.effects()
        assert effect.state == "running"

        with pytest.raises(BadCall, match="pay"):
            await task.settle("pay", outcome)
        store.let_go()

        assert await task.result() == "paid"
        assert Paying.calls == ["charge", "charge"]
        assert "effect_settled" not in await kinds(task)
    store.discard()
