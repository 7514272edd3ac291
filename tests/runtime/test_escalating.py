"""A task that is given up fails its pool, where the policy says `escalate`."""

import asyncio

import pytest

from everstep import Pool, Restart, RestartLimitExceeded, RuntimeClosed, Status, Supervisor
from tests.runtime.kit import Gate, Place, Unsteady, Waiting, heard, until


async def test_a_task_that_is_given_up_with_escalate_is_paused_and_fails_its_pool(
    place: Place, gate: Gate
) -> None:
    Unsteady.errors = [ValueError("broken")]
    pool = Pool("agents", restart=Restart(0, on_give_up="escalate"))

    async with place.runtime(tree=Supervisor("root", children=[pool])) as runtime:
        neighbour = await runtime.start(Waiting(name="n"), id="n")
        await gate.until("n")
        gate.reached.clear()
        back = heard(runtime, "child_started", "agents")
        await asyncio.sleep(0)
        task = await runtime.start(Unsteady(), id="u")
        await back
        info = await task.status()
        (known,) = runtime.tree.children()
        await gate.until("n")
        gate.open("n")

        assert await neighbour.result() == "n"
        assert (await neighbour.status()).crashes == 0

    assert (info.status, info.reason, info.crashes) == (Status.PAUSED, "crashes", 1)
    assert (known.failures, known.incarnation) == (1, 2)
    assert "'u'" in known.last_error
    assert "1 crash and max_restarts=0" in known.last_error
    assert "runtime.task('u').resume()" in known.last_error


async def test_an_escalation_beyond_the_limit_of_the_tree_ends_the_body_and_loses_no_task(
    place: Place, gate: Gate
) -> None:
    Unsteady.errors = [ValueError("broken")]
    pool = Pool("agents", restart=Restart(0, on_give_up="escalate"))
    tree = Supervisor("root", restart=Restart(0), children=[pool])

    left = place.runtime(tree=tree)

    async def run_into_the_limit() -> None:
        async with left as runtime:
            await runtime.start(Waiting(name="n"), id="n")
            await gate.until("n")
            await runtime.start(Unsteady(), id="u")
            await asyncio.Event().wait()

    with pytest.raises(RestartLimitExceeded, match="'root' gives up") as given_up:
        await run_into_the_limit()

    assert isinstance(given_up.value.__cause__, RestartLimitExceeded)
    assert given_up.value.__cause__.supervisor == "root/agents"
    with pytest.raises(RuntimeClosed, match=r"its tree gave up: .* 'u'"):
        await left.task("u").status()
    gate.open("n")
    async with place.runtime(tree=Pool("agents")) as runtime:
        assert await runtime.task("n").result() == "n"
        assert (await runtime.task("u").status()).status is Status.PAUSED
        assert await runtime.task("u").resume()
        assert await runtime.task("u").result() == "at last"


async def test_a_task_given_up_by_its_deaths_fails_its_pool_when_that_starts(
    place: Place, gate: Gate
) -> None:
    restart = Restart(max_deaths=2, on_give_up="escalate")
    tree = Supervisor("root", children=[Pool("agents", restart=restart)])
    for _ in range(2):
        async with place.runtime(tree=tree) as runtime:
            await runtime.start(Waiting(name="killer"), id="killer")
            await gate.until("killer")
            gate.reached.clear()
            place.die()

    async with place.runtime(tree=tree) as runtime:
        task = runtime.task("killer")
        info = await until(task, lambda info: info.status is Status.PAUSED)
        while runtime.tree.child("agents").incarnation == 1:
            await asyncio.sleep(0)
        known = runtime.tree.child("agents")

    assert (info.reason, info.deaths) == ("deaths", 2)
    assert "2 deaths of the process and max_deaths=2" in known.last_error
