"""Deaths that are only pretended: for thousands of histories where real ones would take hours."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..storage.memory import MemoryStore
from .history import History
from .idle_loop import IdleLoop
from .life import Died, Life
from .manual_clock import ManualClock
from .trail import MemoryTrail
from .zygote import Outcome, Scenario

__all__ = ["simulate"]

_ROUNDS = 5


def simulate(
    scenario: Scenario, *args: Any, deaths: Iterable[int] = (), clock: ManualClock | None = None
) -> History:
    """Live a scenario in this process, on a store in memory and on the manual clock.

    Lives end as in `live_through`: from the boundary on nothing of a life is written or noted,
    and its event loop is torn down. Time passes by itself whenever all tasks wait. The scenario
    must hand on `life.store()` and `life.clock`, and use no threads.
    """
    planned = tuple(deaths)
    clock = ManualClock() if clock is None else clock
    store = MemoryStore(clock=clock)
    trail = MemoryTrail()
    outcomes: list[Outcome] = []
    for number, die_at in enumerate((*planned, None), 1):
        ended = asyncio.Event()
        life = Life(
            Path("memory"),
            trail,
            end=ended.set,
            number=number,
            die_at=die_at,
            clock=clock,
            file=store,
        )
        outcomes.append(_live(scenario, life, ended, clock, args))
        if outcomes[-1].how != "killed":
            break
    store.discard()
    return History(tuple(outcomes), planned, tuple(trail))


def _live(
    scenario: Scenario, life: Life, ended: asyncio.Event, clock: ManualClock, args: tuple[Any, ...]
) -> Outcome:
    complaints: list[str] = []
    loop = IdleLoop(clock)
    loop.set_exception_handler(lambda _, context: complaints.append(str(context)))
    try:
        with life:
            main = loop.create_task(scenario(life, *args))
            loop.run_until_complete(_first(main, ended))
            outcome = _outcome(main, life)
            loop.run_until_complete(_cancelled(main))
            left = _tear_down(loop)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        clock.forget()
    if life.dead:
        return Outcome("killed")
    complaints += [f"{task!r} was left behind" for task in left]
    return Outcome(outcome.how, outcome.result, outcome.error, tuple(complaints))


async def _first(main: asyncio.Task[Any], ended: asyncio.Event) -> None:
    """Return when the scenario, or the life, is over."""
    death = asyncio.create_task(ended.wait())
    await asyncio.wait({main, death}, return_when=asyncio.FIRST_COMPLETED)
    death.cancel()
    await asyncio.wait({death})


def _outcome(main: asyncio.Task[Any], life: Life) -> Outcome:
    if life.dead or not main.done():
        return Outcome("killed")
    try:
        return Outcome("ended", main.result())
    except (Exception, Died, asyncio.CancelledError) as error:  # noqa: BLE001  it is the outcome
        return Outcome("failed", error="".join(traceback.format_exception(error)))


async def _cancelled(main: asyncio.Task[Any]) -> None:
    """Let the scenario go, with its last words unheard."""
    main.cancel()
    await asyncio.gather(main, return_exceptions=True)


def _tear_down(loop: IdleLoop) -> list[asyncio.Task[Any]]:
    """End all tasks that are left, in a life that is over; those there were."""
    left = list(asyncio.all_tasks(loop))
    for _ in range(_ROUNDS):
        tasks = asyncio.all_tasks(loop)
        if not tasks:
            break
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.wait(tasks))
        for task in tasks:
            if not task.cancelled():
                task.exception()
    return left
