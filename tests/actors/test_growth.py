"""A checkpoint costs the change, not the state. Counted in bytes and calls, never in seconds."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, cast

from everstep.actors.actor import Actor, Anchor
from everstep.actors.exits import Succeeded
from everstep.actors.history import present
from everstep.actors.log import Log
from everstep.actors.schema import Schema
from everstep.actors.state import collect, frame_of, open_view, place
from everstep.actors.step import step
from everstep.actors.values import Limits
from everstep.storage import MemoryStore, SqliteStore
from everstep.storage.interface import Draft
from everstep.testing import ManualClock
from tests.actors.driver import driving

KILOBYTE = "x" * 1000
ANCHOR = cast("Anchor", None)  # nobody asks it


class Weighing(MemoryStore):
    """A store that knows how many payload bytes each commit had."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock=clock)
        self.sizes: list[int] = []

    def submit(self, draft: Draft) -> None:
        super().submit(Weighed(draft, self.sizes))


class Weighed:
    def __init__(self, draft: Draft, sizes: list[int]) -> None:
        self._draft = draft
        self._sizes = sizes

    def seal(self) -> Any:
        commit = self._draft.seal()
        if commit is not None:
            self._sizes.append(commit.size)
        return commit

    def settle(self, refusal: Any) -> None:
        self._draft.settle(refusal)


class Growing(Actor, name="growth.growing"):
    log: Log[str] = Log()
    count: int = 0

    async def run(self) -> int:
        for _ in range(3000):
            await self.grow()
        return self.count

    @step
    async def grow(self) -> None:
        self.count += 1
        self.log.append(KILOBYTE)


async def test_a_log_that_grows_writes_as_much_at_step_3000_as_at_step_10() -> None:
    store = Weighing(ManualClock())
    async with driving(store) as driver:
        ledger = await driver.create(Growing())
        assert await driver.live(ledger, Growing) == Succeeded()
        early, late = store.sizes[10], store.sizes[3000]
        assert late < early * 1.1
        assert len((await driver.state(ledger, Growing)).log) == 3000


async def test_the_file_grows_linearly_with_what_was_appended(tmp_path: Path) -> None:
    path = tmp_path / "growing.db"
    store = SqliteStore(path, clock=ManualClock(), durability="normal")
    async with driving(store) as driver:
        ledger = await driver.create(Growing())
        assert await driver.live(ledger, Growing) == Succeeded()
    assert path.stat().st_size < 2 * 3000 * len(KILOBYTE)


async def test_a_large_field_that_is_read_and_not_changed_is_not_written_again() -> None:
    class Reading(Actor, name="growth.reading"):
        big: list[str] = []
        seen: int = 0

        async def run(self) -> int:
            for _ in range(20):
                await self.read()
            return self.seen

        @step
        async def read(self) -> None:
            self.seen += len(self.big)

    store = Weighing(ManualClock())
    async with driving(store) as driver:
        ledger = await driver.create(Reading(big=[KILOBYTE] * 500))
        assert await driver.live(ledger, Reading) == Succeeded()
        assert store.sizes[0] > 500_000
        assert max(store.sizes[1:]) < 1000


def calls_of(what: Callable[[], object]) -> int:
    """How many calls of functions, in Python and in C, `what` makes."""
    count = 0

    def counting(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # who listens to the collector would be counted too
    sys.setprofile(counting)
    try:
        what()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


async def test_reading_one_item_of_a_long_log_costs_what_it_costs_on_a_short_one() -> None:
    calls: list[int] = []

    class Peeking(Actor, name="growth.peeking"):
        log: Log[dict[str, str]] = Log()

        async def run(self) -> str:
            await self.peek()
            await self.peek()
            return await self.peek()

        @step
        async def peek(self) -> str:
            calls.append(calls_of(lambda: self.log[-1]["a"]))
            return self.log[-1]["a"]

    async with driving() as driver:
        await driver.run(Peeking(log=Log([{"a": "short"}])))
        await driver.run(Peeking(log=Log([{"a": KILOBYTE}] * 10_000)))
    short, long = calls[1:3], calls[4:]  # the first one fills caches
    assert long == short


async def test_loading_costs_every_item_of_a_long_log_the_same() -> None:
    store = MemoryStore(clock=ManualClock())
    async with driving(store) as driver:
        ledger = await driver.create(Growing())
        assert await driver.live(ledger, Growing) == Succeeded()
        loaded = await store.load(ledger.row.key, flow=False)

    def cost(items: int) -> int:
        part = replace(loaded, appends=loaded.appends[:items], steps=())
        return calls_of(lambda: present(part, Growing, Limits()))

    cost(1)  # fills caches
    assert cost(2000) - cost(1000) == cost(1001) - cost(1) < 20 * 1000


async def test_a_step_beside_a_long_log_costs_what_it_costs_beside_a_short_one() -> None:
    class Appending(Actor, name="growth.appending"):
        log: Log[dict[str, str]] = Log()

    def cost(length: int) -> int:
        schema = Schema.of(Appending)
        view = open_view(schema, schema.frame({}), ANCHOR, family=None)
        place(view, {}, {"log": [b'{"a":"b"}'] * length}, 1, "start")

        def one_step() -> None:
            attempt = cast("Appending", open_view(schema, frame_of(view), ANCHOR, family=view))
            attempt.log.append({"a": "c"})
            collect(attempt, owner="step")

        one_step()
        return calls_of(one_step)

    assert cost(10_000) == cost(1)
