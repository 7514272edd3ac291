"""What becomes of a task reaches those who wait for it, and costs the others nothing."""

import asyncio
import pickle

import pytest

from everstep import (
    Actor,
    Log,
    Restart,
    Retry,
    RuntimeClosed,
    Status,
    TaskCancelled,
    TaskFailed,
    TaskPaused,
    fixed,
    step,
)
from tests.runtime.kit import (
    Gate,
    Place,
    Plain,
    Unsteady,
    Waiting,
    followers,
    kinds,
    next_event,
)


class Failing(Actor, name="runtime.Failing"):
    """Its step fails in every attempt."""

    @step(retry=Retry(max_attempts=2, backoff=fixed(0), jitter="none"))
    async def load(self) -> None:
        raise KeyError("page 7")

    async def run(self) -> None:
        await self.load()


class Growing(Actor, name="results.Growing"):
    lines: Log[str] = Log()
    total: int = 0

    @step
    async def add(self, line: str) -> int:
        self.lines.append(line)
        self.total += 1
        return self.total

    async def run(self) -> int:
        for line in ("a", "b", "c"):
            await self.add(line)
        return self.total


async def test_a_result_comes_back_with_its_type_live_and_from_the_store(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Growing(), id="g")
        assert await task.result() == 3

    async with place.runtime() as runtime:
        assert await runtime.task("g", Growing).result() == 3


async def test_all_who_wait_get_the_result_and_none_is_kept(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Waiting(name="a"))
        waiters = [asyncio.create_task(task.result()) for _ in range(5)]
        await gate.until("a")

        gate.open("a")

        assert await asyncio.gather(*waiters) == ["a"] * 5


async def test_cancelling_who_waits_does_not_touch_the_task(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Waiting(name="a"))
        waiter = asyncio.create_task(task.result())
        await gate.until("a")

        waiter.cancel()
        await asyncio.wait([waiter])
        gate.open("a")

        assert await task.result() == "a"


async def test_a_failed_task_tells_the_step_its_attempts_and_the_original_error(
    place: Place,
) -> None:
    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        task = await runtime.start(Failing(), id="f")

        with pytest.raises(TaskFailed, match="page 7") as caught:
            await task.result()

    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.task_id, error.step, error.attempts, error.error, error.reason) == (
        "f",
        "load",
        2,
        "KeyError",
        "crashes",
    )
    assert "raise KeyError" in error.traceback
    assert str(error) == str(caught.value)


async def test_an_error_of_run_itself_is_told_with_how_often_it_crashed(place: Place) -> None:
    Unsteady.errors = [ValueError("first"), ValueError("second")]
    async with place.runtime(pool={"restart": Restart(1)}) as runtime:
        task = await runtime.start(Unsteady())

        with pytest.raises(TaskFailed, match="second") as caught:
            await task.result()

    assert (caught.value.step, caught.value.attempts) == (None, 2)


async def test_a_pause_is_raised_unless_it_is_to_be_waited_out(place: Place) -> None:
    Unsteady.errors = [ValueError("first")]
    restart = Restart(0, on_give_up="pause")
    async with place.runtime(pool={"restart": restart}) as runtime:
        task = await runtime.start(Unsteady())
        with pytest.raises(TaskPaused, match="first"):
            await task.result()

        patient = asyncio.create_task(task.result(through_pause=True))
        await asyncio.sleep(0)
        await task.resume(by="ann")

        assert await patient == "at last"


async def test_a_cancelled_task_says_so(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Waiting(name="a"))
        waiter = asyncio.create_task(task.result())
        await gate.until("a")

        await task.cancel()

        with pytest.raises(TaskCancelled):
            await waiter


async def test_who_still_waits_when_the_runtime_is_left_is_told(place: Place, gate: Gate) -> None:
    async with place.runtime(grace=0) as runtime:
        task = await runtime.start(Waiting(name="a"))
        await gate.until("a")
        waiter = asyncio.create_task(task.result())
        follower = asyncio.create_task(next_event(task, "task_succeeded"))
        await next_event(task, "step_started")

    with pytest.raises(RuntimeClosed, match="it was left"):
        await waiter
    with pytest.raises(RuntimeClosed):
        await follower


async def test_the_log_is_followed_without_gaps_until_the_end(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Waiting(name="a"))
        numbers: list[int] = []
        async for event in task.events(follow=True):
            numbers.append(event.number)
            if event.kind == "step_started" and event.step == "wait":
                gate.open("a")

        assert numbers == list(range(1, len(numbers) + 1))
        assert (await kinds(task))[-1] == "task_succeeded"
        assert [e.number async for e in task.events(after=3)] == numbers[3:]


async def test_leaving_a_followed_log_leaves_nothing_behind(place: Place, gate: Gate) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Waiting(name="a"))
        await gate.until("a")

        async for _ in task.events(follow=True):
            break
        follower = asyncio.create_task(next_event(task, "never"))
        await asyncio.sleep(0)
        follower.cancel()
        await asyncio.wait([follower])

        assert followers(runtime) == 0
        gate.open("a")


async def test_state_shows_what_is_committed(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Growing())
        await task.result()

        state = await task.state()

        assert isinstance(state, Growing)
        assert (list(state.lines), state.total) == (["a", "b", "c"], 3)


async def test_steps_tell_arguments_outputs_and_attempts(place: Place) -> None:
    async with place.runtime(pool={"restart": Restart(0)}) as runtime:
        grown, failed = await runtime.start(Growing()), await runtime.start(Failing())
        await grown.result()
        await asyncio.wait([asyncio.ensure_future(failed.result())])

        steps = await grown.steps()
        assert [(s.name, s.output, s.attempts) for s in steps] == [
            ("add", 1, 1),
            ("add", 2, 1),
            ("add", 3, 1),
        ]
        assert '"a"' in steps[0].arguments or "'a'" in steps[0].arguments
        broken = (await failed.steps())[0]
        assert (broken.executions, broken.running) == (2, False)


async def test_status_tells_instants_in_utc(place: Place) -> None:
    async with place.runtime() as runtime:
        task = await runtime.start(Plain())
        await task.result()

        info = await task.status()

    assert info.status is Status.SUCCEEDED
    assert info.created_at.timestamp() == place.clock.now()
    assert info.created_at.utcoffset() is not None
    assert not info.unknown_here
