"""When the store has failed, the runtime stops in order and says so everywhere."""

import asyncio

import pytest

from everstep import Pool, RuntimeClosed, StoreFailed, Supervisor
from tests.runtime.kit import Gate, Place, Plain, Waiting


async def test_the_body_is_cancelled_and_the_failure_is_raised(place: Place, gate: Gate) -> None:
    seen: list[str] = []

    async def body() -> None:
        async with place.runtime() as runtime:
            await runtime.start(Waiting(name="a"))
            await gate.until("a")
            place.fail()
            gate.open("a")
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

    with pytest.raises(StoreFailed, match="the disk is gone"):
        await body()

    assert seen == ["cancelled"]
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def test_who_waits_for_a_result_is_told(place: Place, gate: Gate) -> None:
    async def body() -> None:
        async with place.runtime() as runtime:
            task = await runtime.start(Waiting(name="a"))
            waiter = asyncio.create_task(task.result())
            waiters.append(waiter)
            await gate.until("a")
            place.fail()
            gate.open("a")
            await asyncio.wait([waiter])

    waiters: list[asyncio.Task[str]] = []
    with pytest.raises(StoreFailed):
        await body()

    with pytest.raises(RuntimeClosed, match="the disk is gone"):
        await waiters[0]


async def test_a_start_that_the_store_does_not_take_raises_its_failure(place: Place) -> None:
    async with place.runtime() as runtime:
        await (await runtime.start(Plain())).result()
        place.fail()

        with pytest.raises(StoreFailed):
            await runtime.start(Plain())


async def test_an_error_of_the_body_is_not_hidden_by_the_failure(place: Place, gate: Gate) -> None:
    async def body() -> None:
        async with place.runtime() as runtime:
            await runtime.start(Waiting(name="a"))
            await gate.until("a")
            place.fail()
            gate.open("a")
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                raise KeyError("mine") from None

    with pytest.raises(KeyError, match="mine"):
        await body()


async def test_a_failure_while_the_runtime_is_left_is_raised_in_the_end(
    place: Place, gate: Gate
) -> None:
    async def body() -> None:
        async with place.runtime(tree=Supervisor("root", children=[Pool("agents")])) as runtime:
            await runtime.start(Waiting(name="a"))
            await gate.until("a")
            place.fail()

    with pytest.raises(StoreFailed, match="the disk is gone"):
        await body()
