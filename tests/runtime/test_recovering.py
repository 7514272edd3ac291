"""After a death: what ran goes on from its checkpoints, and the death is charged once."""

import asyncio
from pathlib import Path
from typing import Any, ClassVar

import pytest

from everstep import Actor, Retry, Runtime, Status, TaskFailed, TaskPaused, step
from everstep.storage import Loaded, SqliteStore
from tests.runtime.kit import Gate, Place, Plain, Waiting, kinds, next_event, until


class Steps(Actor, name="recovering.Steps"):
    """Two steps with three attempts each; stops at the gate in both."""

    gate: ClassVar[Gate] = Gate()

    @step(retry=Retry(max_attempts=3))
    async def first(self) -> None:
        await self.gate.stop_at("first")

    @step(retry=Retry(max_attempts=3))
    async def second(self) -> str:
        await self.gate.stop_at("second")
        return "done"

    async def run(self) -> str:
        await self.first()
        return await self.second()


@pytest.fixture
def steps() -> Gate:
    Steps.gate = Gate()
    return Steps.gate


async def die_at(place: Place, gate: Gate, name: str, *actors: Actor) -> None:
    """Start tasks named after their order, and die when one of them has come to a place."""
    async with place.runtime() as runtime:
        for number, actor in enumerate(actors):
            await runtime.start(actor, id=str(number))
        await gate.until(name)
        for number in range(len(actors)):
            await next_event(runtime.task(str(number)), "step_started")
        place.die()


async def test_a_task_goes_on_after_a_death_without_repeating_finished_steps(
    place: Place, steps: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "everstep")
    steps.open("first")
    await die_at(place, steps, "second", Steps())
    steps.open("second")

    async with place.runtime() as runtime:
        task = runtime.task("0", Steps)
        assert await task.result() == "done"
        assert "recovered 1 task of processes that are gone" in caplog.text
        records = await task.steps()
        info = await task.status()
        log = await kinds(task)

    assert steps.order == ["first", "second", "second"]
    assert [(r.name, r.attempts, r.executions) for r in records] == [
        ("first", 1, 1),
        ("second", 2, 2),
    ]
    assert (info.deaths, info.crashes, info.incarnation) == (1, 0, 2)
    assert [kind for kind in log if "died" in kind] == ["step_died", "task_died"]


async def test_a_death_costs_nothing_where_all_steps_back_off(place: Place) -> None:
    class Slow(Actor):
        tries: ClassVar[int] = 0

        @step(retry=Retry(max_attempts=2, jitter="none"))
        async def load(self) -> str:
            Slow.tries += 1
            if Slow.tries == 1:
                raise ValueError("not yet")
            return "loaded"

        async def run(self) -> str:
            return await self.load()

    async with place.runtime() as runtime:
        task = await runtime.start(Slow(), id="s")
        await until(task, lambda info: info.due_at is not None)
        place.die()

    async with place.runtime() as runtime:
        task = runtime.task("s")
        assert (await until(task, lambda info: info.status is Status.QUEUED)).deaths == 0
        place.clock.advance(0.5)
        assert await task.result() == "loaded"
        assert (await task.steps())[0].attempts == 2


async def test_what_was_given_back_in_order_is_not_charged(place: Place, gate: Gate) -> None:
    for _ in range(5):
        gate.reached.clear()
        async with place.runtime() as runtime:
            await runtime.start(Waiting(name="a"), id="a")
            await gate.until("a")

    gate.open("a")
    async with place.runtime() as runtime:
        assert await runtime.task("a").result() == "a"
        assert (await runtime.task("a").status()).deaths == 0


async def test_a_task_that_dies_alone_three_times_is_given_up(place: Place, steps: Gate) -> None:
    await die_at(place, steps, "first", Steps())
    for _ in range(2):
        await _die_again(place, steps, "first", "0")

    async with place.runtime() as runtime:
        task = runtime.task("0")
        with pytest.raises(TaskFailed, match="died 3 times") as caught:
            await task.result()
        assert caught.value.reason == "deaths"
        assert (await kinds(task))[-2:] == ["task_died", "task_failed"]


async def _die_again(place: Place, gate: Gate, name: str, task_id: str) -> None:
    gate.reached.clear()
    async with place.runtime() as runtime:
        await gate.until(name)
        task = runtime.task(task_id)
        claimed = (await task.status()).incarnation
        await until(task, lambda info: info.incarnation >= claimed)
        place.die()


async def test_two_that_die_together_are_tried_one_after_the_other(
    place: Place, gate: Gate
) -> None:
    for _ in range(2):
        gate.reached.clear()
        async with place.runtime() as runtime:
            for name in ("a", "b", "c"):
                await runtime.start(Waiting(name=name), id=name)
            for name in ("a", "b", "c"):
                await gate.until(name)
            place.die()

    gate.order.clear()
    gate.reached.clear()
    async with place.runtime() as runtime:
        await gate.until("a")
        healthy = await runtime.start(Plain())
        assert await healthy.result() == "refunds: 2"
        assert gate.order == ["a"]
        assert (await runtime.task("b").status()).status is Status.QUEUED

        gate.open("a")
        await gate.until("b")
        await gate.until("c")
        gate.open("b", "c")
        for name in ("a", "b", "c"):
            assert await runtime.task(name).result() == name


async def test_a_suspect_that_died_beside_others_is_tried_with_nobody_else(
    place: Place, gate: Gate
) -> None:
    for life in (1, 2, 3):
        gate.reached.clear()
        async with place.runtime() as runtime:
            for name in ("a", "b"):
                await runtime.start(Waiting(name=name), id=name)
            await gate.until("a")
            if life == 3:
                place.clock.advance(300)  # "a" has lived long enough: the next is let in
            await gate.until("b")
            place.die()

    gate.order.clear()
    gate.reached.clear()
    async with place.runtime() as runtime:
        await gate.until("b")
        other = await runtime.start(Plain(), id="other")
        assert (await other.status()).status is Status.QUEUED

        place.clock.advance(300)

        assert await other.result() == "refunds: 2"
        gate.open("a", "b")
        assert await runtime.task("b").result() == "b"
        assert await runtime.task("a").result() == "a"


async def test_a_recovery_that_dies_half_way_is_taken_up_by_the_next(
    place: Place, gate: Gate
) -> None:
    async with place.runtime() as runtime:
        for number in range(30):
            await runtime.start(Waiting(name=str(number)), id=str(number))
        await asyncio.gather(*(gate.until(str(number)) for number in range(30)))
        place.die()

    async with place.runtime() as runtime:
        await runtime.task("0").status()
        place.die()

    gate.open(*(str(number) for number in range(30)))
    async with place.runtime() as runtime:
        for number in range(30):
            task = runtime.task(str(number))
            assert await task.result() == str(number)


async def test_a_task_whose_class_is_not_known_waits_and_goes_on_when_it_is(
    place: Place, gate: Gate
) -> None:
    async with place.runtime() as runtime:
        await runtime.start(Waiting(name="a"), id="a")
        await gate.until("a")

    gate.open("a")
    async with place.runtime(actors=[Plain]) as runtime:
        task = runtime.task("a")
        await (await runtime.start(Plain())).result()
        info = await task.status()
        assert (info.status, info.unknown_here) == (Status.QUEUED, True)
        assert [info.unknown_here for info in await runtime.tasks(actor=Waiting)] == [True]

        gate.open("b")
        await (await runtime.start(Waiting(name="b"))).result()

        place.clock.advance(30)
        assert await task.result() == "a"


def _two_of_one_name() -> tuple[type[Actor], type[Actor]]:
    class First(Actor, name="Twice"):
        @step
        async def work(self) -> int:
            return 1

    class Second(Actor, name="Twice"):
        @step
        async def work(self) -> int:
            return 2

    return First, Second


async def test_two_classes_of_one_name_are_refused_only_where_one_is_needed(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = _two_of_one_name()
    async with place.runtime(actors=[]) as runtime:
        await runtime.start(first(), id="queued")
    assert "more than one class" not in caplog.text

    async with place.runtime() as runtime:
        task = runtime.task("queued")
        await (await runtime.start(Plain())).result()
        place.clock.advance(30)
        await (await runtime.start(Plain())).result()
        assert (await task.status()).unknown_here
        assert "more than one class has this name" in caplog.text

    async with place.runtime(actors=[second]) as runtime:
        assert await runtime.task("queued").result() == 2


async def test_a_task_whose_state_does_not_load_is_paused_at_once(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    def defined(kind: type[Any], field: str) -> type[Any]:
        fields: dict[str, Any] = {"__annotations__": {field: kind}, "__module__": __name__}
        if kind is str:
            fields[field] = "text"

        async def run(self: Any) -> str:
            assert self.field is not None
            await asyncio.get_running_loop().create_future()
            return "never"

        return type("Changed", (Actor,), {**fields, "run": run, "__qualname__": "Changed"})

    async with place.runtime() as runtime:
        await runtime.start(defined(str, "field")(), id="c")

    async with place.runtime(actors=[defined(int, "field")]) as runtime:
        with pytest.raises(TaskPaused, match="state_unreadable"):
            await runtime.task("c").result()
        assert (await runtime.task("c").status()).crashes == 0
    assert "runtime.task('c').resume()" in caplog.text


class Counting(SqliteStore):
    """Counts how many loads are under way at once."""

    loading = most = loads = 0

    async def load(self, key: int, *, flow: bool, recent: bool = False) -> Loaded:
        self.loading += 1
        self.loads += 1
        self.most = max(self.most, self.loading)
        try:
            return await super().load(key, flow=flow, recent=recent)
        finally:
            self.loading -= 1


async def test_recoveries_are_asked_of_the_store_a_few_at_a_time(
    tmp_path: Path, gate: Gate
) -> None:
    place, names = Place(tmp_path / "tasks.db"), [str(number) for number in range(300)]
    async with place.runtime() as runtime:
        for name in names:
            await runtime.start(Waiting(name=name), id=name)
            await gate.until(name)
        place.die()
    gate.reached.clear()
    store = Counting(tmp_path / "tasks.db", clock=place.clock)

    async with Runtime(tmp_path / "tasks.db", store=store, clock=place.clock, grace=0):
        for name in names:
            await gate.until(name)

    assert store.loads == 300
    assert store.most <= 64
