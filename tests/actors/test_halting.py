"""A task that cannot go on without a person: what was under way is cut, charged to nobody."""

from __future__ import annotations

import asyncio
import gc

import pytest

from everstep.actors.actor import Actor
from everstep.actors.backoff import fixed, none
from everstep.actors.exits import Exit, Halted, Succeeded
from everstep.actors.ledger import Ledger
from everstep.actors.retry import Retry
from everstep.actors.step import step
from everstep.storage import EffectState, Status
from tests.actors.driver import Driver, driving

ONCE = Retry(max_attempts=1)
SOON = Retry(max_attempts=3, backoff=none())
CALLS: list[str] = []


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


async def charge(what: str) -> str:
    CALLS.append(what)
    raise RuntimeError("500")


async def pauses(driver: Driver, ledger: Ledger, ended: Exit, reason: str) -> None:
    """See that a life has halted, and record that as a pool would."""
    assert isinstance(ended, Halted)
    assert ended.reason == reason
    ledger.change(status=Status.PAUSED)
    await ledger.durable()
    for _, row in await driver.store.steps(ledger.row.key):
        assert (row.open, row.outcome) == (0, None) or row.outcome == "completed"


async def settled(driver: Driver, task_id: str) -> Ledger:
    """The next owner's ledger, with every unknown effect of the task decided by a person."""
    ledger = await driver.claimed(task_id)
    for effect in await driver.store.effects(ledger.row.key):
        ledger.effect(effect._replace(state=EffectState.RECEIPT, value=b'"seen"'))
    await ledger.durable()
    return ledger


async def attempts(driver: Driver, ledger: Ledger, name: str) -> int:
    rows = {row.name: row for _, row in await driver.store.steps(ledger.row.key)}
    return rows[name].attempts


class Grouping(Actor, name="halting.grouping"):
    """Two effects in a task group, in a step with one attempt."""

    async def run(self) -> str:
        return await self.pay()

    @step(retry=ONCE)
    async def pay(self) -> str:
        async with asyncio.TaskGroup() as group:
            one = group.create_task(self.ctx.once("one", charge, "one"))
            other = group.create_task(self.ctx.once("other", charge, "other"))
        return f"{one.result()} {other.result()}"


class Gathering(Actor, name="halting.gathering"):
    """Two effects whose exceptions are collected like results."""

    async def run(self) -> str:
        return await self.pay()

    @step(retry=SOON)
    async def pay(self) -> str:
        done = await asyncio.gather(
            self.ctx.once("one", charge, "one"),
            self.ctx.once("other", charge, "other"),
            return_exceptions=True,
        )
        return " ".join(str(one) for one in done)


class Deep(Actor, name="halting.deep"):
    """An effect in a step below a step, which collects exceptions too."""

    async def run(self) -> str:
        return await self.outer()

    @step(retry=ONCE)
    async def outer(self) -> str:
        (paid,) = await asyncio.gather(self.pay(), return_exceptions=True)
        return f"{paid} {paid}"

    @step(retry=ONCE)
    async def pay(self) -> str:
        return await self.ctx.once("one", charge, "one")


@pytest.mark.parametrize("actor", [Grouping, Gathering, Deep])
async def test_a_step_that_halted_the_task_is_cut_whatever_it_makes_of_that(
    actor: type[Grouping | Gathering | Deep],
) -> None:
    async with driving() as driver:
        ledger = await driver.create(actor())
        await pauses(driver, ledger, await driver.live(ledger, actor), "effect_unknown")
        assert await attempts(driver, ledger, "pay") == 0
        calls = len(CALLS)

        again = await settled(driver, ledger.row.id)

        assert await driver.live(again, actor) == Succeeded()
        assert await driver.result(again, actor) == "seen seen"
        assert len(CALLS) == calls


async def test_a_replay_mismatch_below_a_step_does_not_charge_that_step() -> None:
    given = iter(range(10))
    mended = False
    executed: list[str] = []

    class Nested(Actor, name="halting.nested"):
        async def run(self) -> str:
            return await self.outer()

        @step(retry=Retry(max_attempts=2, backoff=none()))
        async def outer(self) -> str:
            executed.append("outer")
            await self.inner(0 if mended else next(given))
            if len(executed) == 2:
                raise ValueError("once")
            return "done"

        @step
        async def inner(self, number: int) -> int:
            executed.append("inner")
            return number

    async with driving() as driver:
        ledger = await driver.create(Nested())
        await pauses(driver, ledger, await driver.live(ledger, Nested), "replay_mismatch")
        assert await attempts(driver, ledger, "outer") == 1

        mended = True

        assert await driver.again(ledger, Nested) == Succeeded()
        assert executed == ["outer", "inner", "outer", "outer"]


class Beside(Actor, name="halting.beside"):
    """Pays while `run` waits for something that takes long."""

    how: str

    async def run(self) -> None:
        other = {"step": self.long, "backoff": self.flaky, "wait": asyncio.Event().wait}[self.how]
        await asyncio.gather(self.pay(), other(), return_exceptions=True)

    @step
    async def pay(self) -> str:
        return await self.ctx.once("one", charge, "one")

    @step
    async def long(self) -> None:
        await asyncio.Event().wait()

    @step(retry=Retry(max_attempts=3, backoff=fixed(600), jitter="none"))
    async def flaky(self) -> None:
        raise ValueError("once")


@pytest.mark.parametrize("how", ["step", "backoff", "wait"])
async def test_a_task_that_must_pause_does_so_within_its_grace_whatever_run_waits_for(
    how: str,
) -> None:
    async with driving() as driver:
        ledger = await driver.create(Beside(how=how))
        life = asyncio.create_task(driver.live(ledger, Beside))
        while "effect_unknown pay" not in await driver.kinds(ledger):
            await asyncio.sleep(0)
        latest = driver.clock.monotonic() + 4  # grace and cleanup are a second each
        while not life.done() and driver.clock.monotonic() < latest:
            driver.clock.advance(0.2)
            await ledger.durable()
            await asyncio.sleep(0)
        assert life.done()
        await pauses(driver, ledger, life.result(), "effect_unknown")


class Forsaking(Actor, name="halting.forsaking"):
    """Looks at the step that it has started only after another one, which is not to begin."""

    fails: bool

    async def run(self) -> None:
        paying = asyncio.create_task(self.pay_and_fail() if self.fails else self.pay())
        await asyncio.wait([paying])
        await self.other()
        await paying

    @step
    async def pay(self) -> str:
        return await self.ctx.once("one", charge, "one")

    async def pay_and_fail(self) -> None:
        try:
            await self.pay()
        finally:
            raise KeyError("by itself")

    @step
    async def other(self) -> None: ...


@pytest.mark.parametrize("fails", [False, True])
async def test_a_step_that_halted_the_task_unseen_is_no_unhandled_error(fails: bool) -> None:
    """But an error of the user's is, whatever it came of."""
    unhandled: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: unhandled.append(str(told)))
    async with driving() as driver:
        ledger = await driver.create(Forsaking(fails=fails))
        await pauses(driver, ledger, await driver.live(ledger, Forsaking), "effect_unknown")
        await driver.store.close()
    gc.collect()

    assert len(unhandled) == fails
    assert ("by itself" in str(unhandled)) == fails
